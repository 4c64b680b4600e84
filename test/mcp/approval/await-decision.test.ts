import { expect, test } from "vitest";
import { createAwaitDecision } from "../../../src/mcp/approval/await-decision.ts";
import { createAssistantWorld } from "../../support/assistant-world.ts";
import { waitUntil } from "../../support/wait-until.ts";

/** Calls that wait until a person has answered a page. */

async function openPage(world: Awaited<ReturnType<typeof createAssistantWorld>>) {
  const preview = JSON.stringify({ title: "Delete it", facts: [] });
  const wanted = { digest: "a request", preview, key_print: "a key" };
  const asked = await world.state.approvals.askPage(wanted);
  if (!("waits" in asked)) throw new Error(`it was ${asked.said}`);
  return asked.waits.id;
}

test("however many wait for one page, it is looked at once, and briefly", async () => {
  await using world = await createAssistantWorld();
  const id = await openPage(world);
  const { clock, advance, untilAsleep, state } = world;
  let looks = 0;
  const approvals = {
    ...state.approvals,
    findPage: () => Promise.reject(new Error("what a person is shown is long")),
    readStatus: (asked: string) => {
      looks += 1;
      return state.approvals.readStatus(asked);
    },
  };
  const awaitDecision = createAwaitDecision({
    openState: () => Promise.resolve({ approvals }),
    clock,
    sleep: clock.sleep,
  });
  const gone = new AbortController();
  const { signal } = new AbortController();
  const until = clock.monotonic() + 60_000;
  const wait = { until, signal, tellWaiting: () => {} };
  const waits = Array.from({ length: 30 }, () => awaitDecision(id, wait));
  const abandoned = awaitDecision(id, { ...wait, signal: gone.signal });
  const short = awaitDecision(id, { ...wait, until: clock.monotonic() + 100 });
  await untilAsleep();
  expect(looks).toBe(1);
  gone.abort();
  expect(await abandoned).toBe("open");
  advance(250);
  expect(await short).toBe("open");
  expect(looks).toBe(2);

  await state.approvals.decidePage(id, "approved");
  await untilAsleep();
  advance(250);
  expect(new Set(await Promise.all(waits))).toEqual(new Set(["decided"]));
  expect(looks).toBe(3);
  // Nobody waits any more, so that nothing is looked at.
  advance(1000);
  await waitUntil(async () => (await awaitDecision("no page", wait)) === "over");
  expect(looks).toBe(4);
});
