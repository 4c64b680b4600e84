import { randomBytes } from "node:crypto";
import { getEventListeners } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test, vi } from "vitest";
import { createClient } from "../../src/client/client.ts";
import { openRemoteSender } from "../../src/client/remote-sender.ts";
import { setAlarm } from "../../src/app/process/embedded.ts";
import { sleep } from "../../src/app/process/open-client.ts";
import { listUnread } from "../../src/contract/endpoint.ts";
import { contract } from "../../src/contract/index.ts";
import { sendByFetch } from "../support/stage.ts";
import type { FaultName } from "../support/hostile.ts";
import { openForEach } from "../support/open-for.ts";
import { createClientWithFaults, createTimedClient, type ClientWithFaults } from "./clients.ts";

/** Cancelling a call ends it at once, and the error contains the possible effect. */

const { links } = contract;
const withoutEffect = { code: "cancelled", facts: { effect: "none", retry: "now" } };
const withUnknownEffect = { code: "cancelled", facts: { effect: "unknown" } };

let at: ClientWithFaults;
let caller: AbortController;
/** Runs instead of each wait between tries. By default, the wait ends at once. */
let onSleep: (milliseconds: number) => void;
/** Runs when the server stops responding. By default, the caller cancels. */
let onStall: () => void;

openForEach(
  () =>
    createClientWithFaults({
      onStall: () => onStall(),
      sleep: async (milliseconds) => onSleep(milliseconds),
    }),
  (opened) => {
    at = opened;
    caller = new AbortController();
    onStall = () => caller.abort();
    onSleep = (milliseconds) => at.advance(milliseconds);
  },
);

const acts = {
  read: () => at.client.call(links.index, {}, caller.signal),
  create: () => at.client.call(links.create, { path: "spring" }, caller.signal),
  upsert: () => at.client.call(links.upsert, { path: "spring" }, caller.signal),
};

test("a call cancelled before it starts sends no request", async () => {
  caller.abort();
  for (const act of Object.values(acts)) await expect(act()).rejects.toMatchObject(withoutEffect);
  expect(at.hostile.received).toEqual([]);
});

describe("a call cancelled while the response's body stalls", () => {
  test.each(["create", "upsert"] as const)(
    "reports success if the server has accepted the %s",
    async (act) => {
      at.hostile.plan({ writes: ["stall_body after"] });
      expect(listUnread(await acts[act]())).toHaveLength(1);
      expect(at.hostile.received).toHaveLength(1);
      await expectNothingOpen();
    },
  );

  test("reports no effect if it is a read", async () => {
    at.hostile.plan({ reads: ["stall_body after"] });
    await expect(acts.read()).rejects.toMatchObject(withoutEffect);
    await expectNothingOpen();
  });
});

describe("a call cancelled before any response", () => {
  const fault = "stall";

  test("reports no effect if it is a read", async () => {
    at.hostile.plan({ reads: [fault] });
    await expect(acts.read()).rejects.toMatchObject(withoutEffect);
    await expectNothingOpen();
  });

  test.each([
    ["create", "never", "POST /links"],
    ["upsert", "now", "POST /links/upsert"],
  ] as const)(
    "reports an unknown effect for a write (%s), with the retry advice %s",
    async (act, retry, sent) => {
      at.hostile.plan({ writes: [fault] });
      await expect(acts[act]()).rejects.toMatchObject({
        ...withUnknownEffect,
        facts: { effect: "unknown", retry },
      });
      expect(at.hostile.received).toEqual([sent]);
      await expectNothingOpen();
    },
  );
});

describe("a call cancelled during the wait before a retry", () => {
  test.each<readonly [FaultName, keyof typeof acts, object]>([
    ["busy", "upsert", withUnknownEffect],
    ["busy", "create", withUnknownEffect],
    ["limited", "create", withoutEffect],
    ["limited", "upsert", withoutEffect],
  ])('reports the true effect after the fault "%s" (%s)', async (misdeed, act, ending) => {
    onSleep = () => caller.abort();
    at.hostile.plan({ writes: [misdeed] });
    await expect(acts[act]()).rejects.toMatchObject(ending);
    expect(at.hostile.received).toHaveLength(1);
    expect(at.waits).toHaveLength(1);
    await expectNothingOpen();
  });

  test("is not retried if it is a read", async () => {
    onSleep = () => caller.abort();
    at.hostile.plan({ reads: ["reset"] });
    await expect(acts.read()).rejects.toMatchObject(withoutEffect);
    expect(at.hostile.received).toHaveLength(1);
  });
});

test("a call cancelled during its last try is reported as cancelled", async () => {
  at.hostile.plan({ reads: ["reset", "reset", "reset", "stall"] });
  await expect(acts.read()).rejects.toMatchObject(withoutEffect);
  expect(at.hostile.received).toHaveLength(4);
});

test("a create call reports an unknown effect if it is cancelled during the lookup", async () => {
  at.hostile.plan({ writes: ["reset after"], reads: ["stall"] });
  await expect(acts.create()).rejects.toMatchObject(withUnknownEffect);
  expect(at.hostile.received).toEqual(["POST /links", "GET /links"]);
  await expectNothingOpen();
});

test("a response is returned even if the caller cancels just after it arrives", async () => {
  const { client } = createTimedClient({
    world: at.world,
    send: async (request, signal) => {
      const reply = await sendByFetch(at.world.fetch)(request, signal);
      queueMicrotask(() => caller.abort());
      return reply;
    },
  });
  const call = client.call(links.create, { path: "spring" }, caller.signal);
  expect(await call).toMatchObject({ path: "spring" });
  const again = client.call(links.create, { path: "spring" }, new AbortController().signal);
  await expect(again).rejects.toMatchObject({ status: 422 });
});

test("cancelling ends a call even if the transport ignores the abort signal", async () => {
  const { client, countTimers } = createTimedClient({
    world: at.world,
    send: () => new Promise(() => undefined),
  });
  const call = client.call(links.create, { path: "spring" }, caller.signal);
  await new Promise(setImmediate);
  caller.abort();
  await expect(call).rejects.toMatchObject(withUnknownEffect);
  expect(countTimers()).toBe(0);
});

test("finished and cancelled calls leave no timers or listeners behind", async () => {
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
    setAlarm,
  });
  await client.call(links.index, {}, caller.signal);
  expect(getEventListeners(caller.signal, "abort")).toEqual([]);

  at.hostile.plan({ writes: ["stall"] });
  await expect(client.call(links.create, { path: "a" }, caller.signal)).rejects.toMatchObject(
    withUnknownEffect,
  );
  caller = new AbortController();
  at.hostile.plan({ writes: ["limited"] });
  await expect(client.call(links.create, { path: "a" }, caller.signal)).rejects.toMatchObject(
    withoutEffect,
  );
  expect(getEventListeners(caller.signal, "abort")).toEqual([]);

  await remote.close();
  await at.hostile.untilLeft();
  const tries = set.mock.results.filter((_, call) => set.mock.calls[call]?.[1] === 15_000);
  expect(tries).toHaveLength(3);
  for (const { value } of tries) expect(cleared).toHaveBeenCalledWith(value);
});

test("a call can still be cancelled after garbage collection", async () => {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  at.hostile.plan({ writes: ["stall"] });
  onStall = () => {
    if (typeof collect === "function") collect();
    caller.abort();
  };
  await expect(acts.create()).rejects.toMatchObject(withUnknownEffect);
  await expectNothingOpen();
});

async function expectNothingOpen(): Promise<void> {
  expect(at.countTimers()).toBe(0);
  expect(getEventListeners(caller.signal, "abort")).toEqual([]);
  await at.hostile.untilIdle();
}
