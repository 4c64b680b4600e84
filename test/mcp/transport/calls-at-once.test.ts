import { describe, expect, test } from "vitest";
import { createGate } from "../../support/gate.ts";
import { callOf } from "../../support/mcp-raw.ts";
import { openHeldWay, openWay, readStatuses, readUntil, settle } from "../../support/mcp-way.ts";

/** Calls that come at once: whose turn it is, and how many there may be. */

describe("of a thousand clients that call with one key", () => {
  test("each is answered, a hundred worked on at a time, in sessions and without", async () => {
    const { call, openSession, begun, open } = openHeldWay();
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

  test("none keeps a call of another key waiting", async () => {
    const { call, begun, open } = openHeldWay();
    const calls = Array.from({ length: 1000 }, () => call("one", "theirs"));
    await settle();
    calls.push(call("another", "other"));
    await settle();
    expect(begun.length).toBe(101);
    expect(begun.at(-1)).toBe("other");
    open();
    expect(await readStatuses(calls)).toEqual(new Set([200]));
  });

  test("one that calls very often waits for itself, and the others do not", async () => {
    const gates = Array.from({ length: 400 }, createGate);
    const begun: string[] = [];
    const { call, openSession } = openWay(async (tool) => {
      await gates[begun.push(tool) - 1]?.opened;
    });
    const quiet = await openSession("one");
    const calls = Array.from({ length: 300 }, () => call("one", "often"));
    await settle();
    calls.push(quiet.call(1, "seldom"), call("one", "elsewhere", { address: "192.0.2.1" }));
    await settle();
    for (const { open } of gates.slice(0, 3)) open();
    await settle();
    expect(begun.slice(100).toSorted()).toEqual(["elsewhere", "often", "seldom"]);
    for (const { open } of gates) open();
    expect(await readStatuses(calls)).toEqual(new Set([200]));
  });
});

describe("whoever waits for a person", () => {
  test("takes nobody's place, and nor does the person's answer wait for one", async () => {
    const params = { message: "?", requestedSchema: { type: "object", properties: {} } } as const;
    const begun: string[] = [];
    const gate = createGate();
    const way = openWay(async (tool, { mcpReq }) => {
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

  test("of what takes long for another reason others wait two seconds at most", async () => {
    const { call, begun, open, advance } = openHeldWay();
    const calls = Array.from({ length: 250 }, () => call("one"));
    await settle();
    expect(begun.length).toBe(100);
    advance(1000);
    await settle();
    expect(begun.length).toBe(200);
    advance(1000);
    await settle();
    expect(begun.length).toBe(250);
    open();
    expect(await readStatuses(calls)).toEqual(new Set([200]));
  });
});

describe("a call that waits for its turn", () => {
  test("is not begun where its client has left", async () => {
    const { call, begun, open } = openHeldWay();
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

  test("is not begun where its client has given it up, and ends", async () => {
    const { call, openSession, begun, open } = openHeldWay();
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

test("of a batch that waits for its turn, what is given up is not begun", async () => {
  const { call, openSession, begun, open } = openHeldWay();
  const session = await openSession("one");
  const calls = Array.from({ length: 100 }, () => call("one"));
  await settle();
  const batch = session.send([callOf(7, "given up"), callOf(8, "kept")]);
  await settle();
  const params = { requestId: 7 };
  await session.send({ jsonrpc: "2.0", method: "notifications/cancelled", params });
  open();
  // It ends when what was kept is answered.
  expect((await (await batch).text()).match(/"id":\d/g)).toEqual(['"id":8']);
  expect(await readStatuses(calls)).toEqual(new Set([200]));
  expect(begun.slice(100)).toEqual(["kept"]);
});

describe("of calls that are under way", () => {
  test("a client may have so many, and each key some, whatever others have", async () => {
    const { call, begun, open, openSession } = openHeldWay();
    const session = await openSession("one");
    const calls: Promise<Response>[] = [];
    const fill = async (key: string, address: string) => {
      for (let count = 0; count < 1500; count += 1) calls.push(call(key, "any", { address }));
      await settle();
      const last = await call(key, "any", { address });
      expect([last.status, last.headers.get("retry-after")]).toEqual([503, "1"]);
    };
    await fill("one", "192.0.2.1");
    calls.push(call("one", "elsewhere", { address: "192.0.2.2" }));
    await settle();
    // What a session was let in with has room for its call.
    calls.push(session.call(1));
    await fill("one", "192.0.2.2");
    await fill("another", "192.0.2.3");
    for (const key of ["third", "fourth"]) calls.push(call(key, key));
    await settle();
    expect(begun).toEqual(expect.arrayContaining(["third", "fourth"]));
    open();
    const all = (await Promise.all(calls)).map(({ status }) => status);
    const answered = all.filter((status) => status === 200).length;
    expect(new Set(all)).toEqual(new Set([200, 503]));
    // 160 MB at 64 KB each, and sixteen for a key that comes later.
    expect(answered).toBe(2560 + 16 + 1 + 2);
  });

  test("bodies on their way take nobody's place", async () => {
    const { begin, call } = openWay();
    const begun = Array.from({ length: 300 }, () => begin("one"));
    await settle();
    expect((await call("one")).status).toBe(200);
    for (const { end } of begun) end();
    // None of them was a message at all.
    expect(await readStatuses(begun.map(({ answered }) => answered))).toEqual(new Set([400]));
  });
});
