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
  const wait = { key_print: "a key", until, signal, tellWaiting: () => {} };
  const waits = Array.from({ length: 30 }, (_, index) =>
    awaitDecision(id, { ...wait, key_print: `key ${index}` }),
  );
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

test("twenty calls of a key wait, and a further one is given the address", async () => {
  await using assistant = await createAssistantWorld();
  const { callRaw } = assistant;
  const { id } = await assistant.plant("link", { path: "spring" });
  const other = await assistant.plant("link", { path: "summer" });
  const capabilities = { elicitation: { url: {} } };
  const open = async (asked: string, key = assistant.world.key) => {
    const call = { name: "delete_link", arguments: { id: asked }, key, capabilities };
    const { requestState, inputRequests } = await callRaw(call);
    const agreed = { approval_page: { action: "accept" } };
    const { url } = inputRequests.approval_page.params;
    return { url, wait: () => callRaw({ ...call, requestState, inputResponses: agreed }) };
  };
  const page = await open(id);
  const calls = Array.from({ length: 21 }, page.wait);

  const refused = await Promise.race(calls);
  expect(refused.structuredContent.error).toMatchObject({
    code: "approval_required",
    effect: "none",
    approval: { url: page.url },
  });
  // Another key's calls wait all the same.
  const others = await open(other.id, await assistant.world.addKey({ role: "owner" }));
  const patient = others.wait();
  await assistant.untilAsleep();
  await assistant.press(others.url, "approve");
  assistant.advance(250);
  expect((await patient).structuredContent.deleted.id).toBe(other.id);

  await assistant.press(page.url, "approve");
  assistant.advance(250);
  const results = (await Promise.all(calls)).map((result) => result.structuredContent);
  expect(results.filter(({ deleted }) => deleted !== undefined)).toHaveLength(1);
  const codes = results.flatMap(({ error }) => error?.code ?? []);
  expect(codes.filter((code) => code === "approval_required")).toHaveLength(1);
  // Who has waited leaves their place to others.
  const next = await open((await assistant.plant("link", { path: "autumn" })).id);
  const last = next.wait();
  await assistant.untilAsleep();
  await assistant.press(next.url, "decline");
  assistant.advance(250);
  expect((await last).structuredContent.error.code).toBe("approval_declined");
});
