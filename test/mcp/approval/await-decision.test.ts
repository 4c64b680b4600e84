import { expect, test } from "vitest";
import { createAwaitDecision } from "../../../src/mcp/approval/await-decision.ts";
import { createAssistantWorld } from "../../support/assistant-world.ts";

/** Calls that wait until a person has answered a page. */

async function openPage(world: Awaited<ReturnType<typeof createAssistantWorld>>) {
  const preview = JSON.stringify({ title: "Delete it", facts: [] });
  const wanted = { digest: "a request", preview, key_print: "a key" };
  const asked = await world.state.approvals.askPage(wanted);
  if (!("waits" in asked)) throw new Error(`it was ${asked.said}`);
  return asked.waits.id;
}

test("a call waits until its page is answered, its time is over or its caller leaves", async () => {
  await using world = await createAssistantWorld();
  const id = await openPage(world);
  const { clock, advance, untilAsleep, state } = world;
  const awaitDecision = createAwaitDecision({
    openState: () => Promise.resolve(state),
    clock,
    sleep: clock.sleep,
  });
  const gone = new AbortController();
  const { signal } = new AbortController();
  const until = clock.monotonic() + 60_000;
  const wait = { key_print: "a key", until, signal, tellWaiting: () => {} };
  const patient = awaitDecision(id, wait);
  const abandoned = awaitDecision(id, { ...wait, signal: gone.signal });
  const short = awaitDecision(id, { ...wait, until: clock.monotonic() + 100 });
  await untilAsleep(3);
  gone.abort();
  expect(await abandoned).toBe("open");
  advance(250);
  expect(await short).toBe("open");

  await state.approvals.decidePage(id, "approved");
  await untilAsleep();
  advance(250);
  expect(await patient).toBe("decided");
  expect(await awaitDecision("no page", wait)).toBe("over");
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
