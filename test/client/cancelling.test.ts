import { randomBytes } from "node:crypto";
import { getEventListeners } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { openRemoteSender } from "../../src/client/carriers.ts";
import { sleep } from "../../src/app/process/open-client.ts";
import { listUnread } from "../../src/contract/unread.ts";
import { contract } from "../../src/contract/index.ts";
import { sendByFetch } from "../support/stage.ts";
import type { Misdeed } from "../support/hostile.ts";
import { createExpedition, createTraveller, type Expedition } from "./traveller.ts";

/** A caller that cancels ends the call at once, and learns what may have happened. */

const { links } = contract;
const untouched = { code: "cancelled", facts: { effect: "none", retry: "now" } };
const undecided = { code: "cancelled", facts: { effect: "unknown" } };

let at: Expedition;
let caller: AbortController;
/** What a wait does: it is over at once, unless a test cancels during it. */
let onSleep: (milliseconds: number) => void;
/** What happens when the server stops responding: the caller cancels. */
let onStall: () => void;

beforeEach(async () => {
  caller = new AbortController();
  onStall = () => caller.abort();
  onSleep = (milliseconds) => at.advance(milliseconds);
  at = await createExpedition({
    onStall: () => onStall(),
    sleep: async (milliseconds) => onSleep(milliseconds),
  });
});
afterEach(() => at[Symbol.asyncDispose]());

const acts = {
  read: () => at.client.call(links.index, {}, caller.signal),
  create: () => at.client.call(links.create, { path: "spring" }, caller.signal),
  upsert: () => at.client.call(links.upsert, { path: "spring" }, caller.signal),
};

test("a call cancelled before it starts sends nothing", async () => {
  caller.abort();
  for (const act of Object.values(acts)) await expect(act()).rejects.toMatchObject(untouched);
  expect(at.hostile.received).toEqual([]);
});

describe("cancelling while the response's body stalls", () => {
  test.each(["create", "upsert"] as const)(
    "returns the %s as done, because it was accepted",
    async (act) => {
      at.hostile.plan({ writes: ["stall_body after"] });
      expect(listUnread(await acts[act]())).toHaveLength(1);
      expect(at.hostile.received).toHaveLength(1);
      await expectNothingOpen();
    },
  );

  test("reports that a read had no effect", async () => {
    at.hostile.plan({ reads: ["stall_body after"] });
    await expect(acts.read()).rejects.toMatchObject(untouched);
    await expectNothingOpen();
  });
});

describe("cancelling while no response has come", () => {
  const fault = "stall";

  test("reports that a read had no effect", async () => {
    at.hostile.plan({ reads: [fault] });
    await expect(acts.read()).rejects.toMatchObject(untouched);
    await expectNothingOpen();
  });

  test("reports the effect of a create as unknown and sends nothing more", async () => {
    at.hostile.plan({ writes: [fault] });
    await expect(acts.create()).rejects.toMatchObject({
      ...undecided,
      facts: { effect: "unknown", retry: "never" },
    });
    expect(at.hostile.received).toEqual(["POST /links"]);
    await expectNothingOpen();
  });

  test("reports the effect of an upsert as unknown and repeatable", async () => {
    at.hostile.plan({ writes: [fault] });
    await expect(acts.upsert()).rejects.toMatchObject({
      ...undecided,
      facts: { effect: "unknown", retry: "now" },
    });
    expect(at.hostile.received).toEqual(["POST /links/upsert"]);
    await expectNothingOpen();
  });
});

describe("cancelling during the wait before the next try", () => {
  test.each<readonly [Misdeed, keyof typeof acts, object]>([
    ["busy", "upsert", undecided],
    ["busy", "create", undecided],
    ["limited", "create", untouched],
    ["limited", "upsert", untouched],
  ])('after "%s" ends %s with its effect', async (misdeed, act, ending) => {
    onSleep = () => caller.abort();
    at.hostile.plan({ writes: [misdeed] });
    await expect(acts[act]()).rejects.toMatchObject(ending);
    expect(at.hostile.received).toHaveLength(1);
    expect(at.waits).toHaveLength(1);
    await expectNothingOpen();
  });

  test("prevents the repetition of a read", async () => {
    onSleep = () => caller.abort();
    at.hostile.plan({ reads: ["reset"] });
    await expect(acts.read()).rejects.toMatchObject(untouched);
    expect(at.hostile.received).toHaveLength(1);
  });
});

test("a call cancelled during its last try is reported as cancelled", async () => {
  at.hostile.plan({ reads: ["reset", "reset", "reset", "stall"] });
  await expect(acts.read()).rejects.toMatchObject(untouched);
  expect(at.hostile.received).toHaveLength(4);
});

test("a create cancelled during the lookup of its result has an unknown effect", async () => {
  at.hostile.plan({ writes: ["reset after"], reads: ["stall"] });
  await expect(acts.create()).rejects.toMatchObject(undecided);
  expect(at.hostile.received).toEqual(["POST /links", "GET /links"]);
  await expectNothingOpen();
});

test("a response that arrives counts, even if the caller cancels at the same time", async () => {
  const { client } = createTraveller({
    world: at.world,
    send: async (request, readSignal) => {
      const reply = await sendByFetch(at.world.fetch)(request, readSignal);
      queueMicrotask(() => caller.abort());
      return reply;
    },
  });
  const call = client.call(links.create, { path: "spring" }, caller.signal);
  expect(await call).toMatchObject({ path: "spring" });
  const again = client.call(links.create, { path: "spring" }, new AbortController().signal);
  await expect(again).rejects.toMatchObject({ status: 422 });
});

test("cancelling ends a call even if the transport ignores the signal", async () => {
  const { client, countTimers } = createTraveller({
    world: at.world,
    send: () => new Promise(() => undefined),
  });
  const call = client.call(links.create, { path: "spring" }, caller.signal);
  caller.abort();
  await expect(call).rejects.toMatchObject(undecided);
  expect(countTimers()).toBe(0);
});

test("ended calls leave no timers or listeners behind", async () => {
  using set = vi.spyOn(globalThis, "setTimeout");
  using cleared = vi.spyOn(globalThis, "clearTimeout");
  const remote = openRemoteSender();
  const client = createClient({
    target: { origin: at.hostile.origin, key: at.world.key },
    send: remote.send,
    clock: at.world.clock,
    random: { bytes: (count) => randomBytes(count) },
    sleep: (milliseconds, signal) => {
      setImmediate(() => caller.abort());
      return sleep(milliseconds, signal);
    },
  });
  await client.call(links.index, {}, caller.signal);
  expect(getEventListeners(caller.signal, "abort")).toEqual([]);

  at.hostile.plan({ writes: ["stall"] });
  await expect(client.call(links.create, { path: "a" }, caller.signal)).rejects.toMatchObject(
    undecided,
  );
  caller = new AbortController();
  at.hostile.plan({ writes: ["limited"] });
  await expect(client.call(links.create, { path: "a" }, caller.signal)).rejects.toMatchObject(
    untouched,
  );
  expect(getEventListeners(caller.signal, "abort")).toEqual([]);

  await remote.close();
  await at.hostile.untilLeft();
  const tries = set.mock.results.filter((_, call) => set.mock.calls[call]?.[1] === 15_000);
  expect(tries).toHaveLength(3);
  for (const { value } of tries) expect(cleared).toHaveBeenCalledWith(value);
});

test("cancelling still works after a garbage collection", async () => {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  at.hostile.plan({ writes: ["stall"] });
  onStall = () => {
    if (typeof collect === "function") collect();
    caller.abort();
  };
  await expect(acts.create()).rejects.toMatchObject(undecided);
  await expectNothingOpen();
});

/** Checks that no timer is set and no connection is in use. */
async function expectNothingOpen(): Promise<void> {
  expect(at.countTimers()).toBe(0);
  expect(getEventListeners(caller.signal, "abort")).toEqual([]);
  await at.hostile.untilIdle();
}
