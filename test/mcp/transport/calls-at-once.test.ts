import { describe, expect, test } from "vitest";
import { createGate } from "../../support/clock.ts";
import { openHeldMcp, openMcp, readStatuses, readUntil, settle } from "../../support/open-mcp.ts";

/** Tests which of many simultaneous calls run, wait or are rejected. */

describe("a thousand calls with one key", () => {
  test("are all answered, with at most 100 running at a time", async () => {
    const { call, openSession, begun, open } = openHeldMcp();
    const sessions = await Promise.all(Array.from({ length: 500 }, () => openSession("one")));
    const calls = [
      ...sessions.map((session) => session.call(1)),
      ...Array.from({ length: 500 }, () => call("one")),
    ];
    await settle();
    expect(begun.length).toBe(100);
    open();
    expect(await readStatuses(calls)).toEqual(new Set([200]));
    expect(begun.length).toBe(1000);
  });

  test("do not delay a call with another key", async () => {
    const { call, begun, open } = openHeldMcp();
    const calls = Array.from({ length: 1000 }, () => call("one", "theirs"));
    await settle();
    calls.push(call("another", "other"));
    await settle();
    expect(begun.length).toBe(101);
    expect(begun.at(-1)).toBe("other");
    open();
    expect(await readStatuses(calls)).toEqual(new Set([200]));
  });
});

test("a call waiting for an approval does not count as a running call", async () => {
  const params = { message: "?", requestedSchema: { type: "object", properties: {} } } as const;
  const begun: string[] = [];
  const gate = createGate();
  const way = openMcp(async (tool, { mcpReq }) => {
    begun.push(tool);
    if (tool === "ask") await mcpReq.send({ method: "elicitation/create", params });
    else await gate.opened;
  });
  const asking = await Promise.all(
    Array.from({ length: 150 }, async () => {
      const session = await way.openSession("one");
      const { body } = await session.call(1, "ask");
      return { session, reader: body?.getReader() };
    }),
  );
  await settle();
  expect(begun.length).toBe(150);
  const calls = Array.from({ length: 150 }, () => way.call("one", "work"));
  await settle();
  expect(begun.length).toBe(250);
  for (const { session, reader } of asking) {
    const [, id] = await readUntil(reader, /"id":(\d+)/);
    const result = { action: "accept", content: {} };
    const { status } = await session.send({ jsonrpc: "2.0", id: Number(id), result });
    expect(status).toBe(202);
    await readUntil(reader, /"content":\[\]/);
  }
  gate.open();
  expect(await readStatuses(calls)).toEqual(new Set([200]));
});

describe("a queued call", () => {
  test("never runs if its client disconnects", async () => {
    const { call, begun, open } = openHeldMcp();
    const calls = Array.from({ length: 100 }, () => call("one"));
    const leaving = new AbortController();
    const left = call("one", "left", { signal: leaving.signal });
    await settle();
    leaving.abort();
    open();
    expect(await readStatuses(calls)).toEqual(new Set([200]));
    await left;
    await settle();
    expect(begun).not.toContain("left");
  });

  test("ends without running if its client cancels the call", async () => {
    const { call, openSession, begun, open } = openHeldMcp();
    const session = await openSession("one");
    const calls = Array.from({ length: 100 }, () => call("one"));
    await settle();
    const cancelled = session.call(7, "cancelled");
    await settle();
    const params = { requestId: 7 };
    await session.send({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    expect(await (await cancelled).text()).toBe("");
    open();
    expect(await readStatuses(calls)).toEqual(new Set([200]));
    expect(begun).not.toContain("cancelled");
    expect((await session.call(7)).status).toBe(200);
  });
});

describe("unanswered calls", () => {
  test("are limited to 1,200 for each API key", async () => {
    const { call, open } = openHeldMcp();
    const calls = Array.from({ length: 1200 }, () => call("one"));
    await settle();
    const refused = await call("one");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    calls.push(call("another"));
    open();
    expect(await readStatuses(calls)).toEqual(new Set([200]));
  });

  test("are limited to 2,500 in total, but each key can always make a few calls", async () => {
    const { call, begun, open } = openHeldMcp();
    const calls: Promise<Response>[] = [];
    for (const key of ["one", "two", "three"]) {
      for (let count = 0; count < 1000; count += 1) calls.push(call(key));
    }
    await settle();
    calls.push(call("late", "of a late key"));
    await settle();
    expect(begun.at(-1)).toBe("of a late key");
    open();
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    const answered = statuses.filter((status) => status === 200).length;
    expect([answered, new Set(statuses)]).toEqual([2501, new Set([200, 503])]);
  });

  test("are rejected after waiting ten seconds behind the key's 100 running calls", async () => {
    const { call, open, advance } = openHeldMcp();
    const calls = Array.from({ length: 100 }, () => call("one"));
    const late = call("one");
    await settle();
    advance(10_000);
    expect((await late).status).toBe(503);
    open();
    expect(await readStatuses(calls)).toEqual(new Set([200]));
  });

  test("do not include requests whose body is incomplete", async () => {
    const { begin, call } = openMcp();
    const begun = Array.from({ length: 300 }, () => begin("one"));
    await settle();
    expect((await call("one")).status).toBe(200);
    for (const { end } of begun) end();
    // The bodies were incomplete until now, and none is a valid message.
    expect(await readStatuses(begun.map(({ answered }) => answered))).toEqual(new Set([400]));
  });
});
