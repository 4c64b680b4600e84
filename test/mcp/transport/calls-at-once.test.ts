import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createGate } from "../../support/gate.ts";
import { openGround } from "../../support/mcp-ground.ts";
import { modernCall, post, withSession } from "../../support/mcp-post.ts";
import { callOf } from "../../support/mcp-raw.ts";
import { handshakeWithForms, openWay } from "../../support/mcp-way.ts";

/** Calls that come at once: whose turn it is, and how many there may be. */

const mebibyte = 1024 * 1024;

/** Calls that have begun do not end before the test says so. */
function openHeldWay() {
  const gate = createGate();
  const begun: string[] = [];
  const way = openWay(async (tool) => {
    begun.push(tool);
    await gate.opened;
  });
  return { ...way, begun, open: gate.open };
}

async function readStatuses(calls: readonly Promise<Response>[]): Promise<ReadonlySet<number>> {
  return new Set((await Promise.all(calls)).map(({ status }) => status));
}

/** Lets everything happen that nothing holds up. */
async function settle(): Promise<void> {
  for (let count = 0; count < 20; count += 1) await turn();
}

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
  test("keeps no room from the key's long messages, whatever it has sent itself", async () => {
    const params = { message: "?", requestedSchema: { type: "object", properties: {} } } as const;
    const way = openWay(async (tool, { mcpReq }) => {
      if (tool === "ask") await mcpReq.send({ method: "elicitation/create", params });
    });
    const bytes = 4 * mebibyte - 1000;
    const asking = await Promise.all(
      [1, 2].map(async () => {
        const session = await way.openSession("one");
        const { body } = await session.call(1, "ask", bytes);
        const reader = body?.getReader();
        await readUntil(reader, /elicitation/);
        return reader;
      }),
    );
    expect((await way.call("one", "any", { bytes })).status).toBe(200);
    // It is counted all the same, with what else lasts as long as its client wants.
    expect((await way.listen("one", { bytes })).status).toBe(503);
    for (const reader of asking) await reader?.cancel();
    const stream = await way.listen("one", { bytes });
    expect(stream.status).toBe(200);
    await stream.body?.cancel();
  });

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

  test("long messages are read as room for them is there, keys in turn", async () => {
    const { begin, call } = openWay();
    const bytes = 4 * mebibyte;
    const theirs = Array.from({ length: 10 }, () => begin("one", { bytes }));
    await settle();
    const other = Array.from({ length: 10 }, () => begin("another", { bytes }));
    await settle();
    const third = begin("third", { bytes });
    await settle();
    const count = () => [theirs, other, [third]].map((all) => all.filter(isRead).length);
    expect(count()).toEqual([2, 2, 0]);
    expect((await call("one")).status).toBe(200);
    theirs[0]?.end();
    await settle();
    // It was that key's turn; now it is the others', of which one has all of its share.
    expect(count()).toEqual([3, 2, 0]);
    theirs[1]?.end();
    await settle();
    expect(count()).toEqual([3, 2, 1]);
    for (const { end } of [...theirs.slice(2), ...other, third]) end();
  });

  test("a long one waits for room for ten seconds, and is refused then", async () => {
    const { begin, advance } = openWay();
    const bytes = 4 * mebibyte;
    const held = ["one", "one", "another", "another"].map((key) => begin(key, { bytes }));
    await settle();
    const late = begin("third", { bytes });
    await settle();
    let isAnswered = false;
    const answered = late.answered.finally(() => (isAnswered = true));
    advance(9999);
    await settle();
    expect(isAnswered).toBe(false);
    advance(1);
    const { status, headers, json } = await readRefusal(await answered);
    expect([status, headers.get("retry-after"), late.isRead()]).toEqual([503, "1", false]);
    const data = { code: "overloaded", effect: "none", retry: "later", retry_after_s: 1 };
    expect(json).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: -32001, data } });
    held[0]?.end();
    await settle();
    // What was refused takes no room either.
    const next = begin("third", { bytes });
    await settle();
    expect(next.isRead()).toBe(true);
    for (const { end } of [...held.slice(1), next]) end();
  });

  test("a long one that is given up while it waits for room is not begun", async () => {
    const begun: string[] = [];
    const { begin, openSession } = openWay(async (tool) => begun.push(tool));
    const session = await openSession("one");
    const bytes = 4 * mebibyte;
    const held = [1, 2].map(() => begin("one", { bytes }));
    await settle();
    const calls = [callOf(7, "given up"), [callOf(8, "given up"), callOf(9, "kept")]];
    const sent = calls.map((call) => session.send(call, 70_000));
    await settle();
    for (const requestId of [7, 8]) {
      const cancelled = {
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId },
      };
      expect((await session.send(cancelled)).status).toBe(202);
    }
    for (const { end } of held) end();
    const texts = await Promise.all(sent.map(async (answered) => (await answered).text()));
    expect(texts.map((text) => text.match(/"id":\d/g))).toEqual([null, ['"id":9']]);
    expect(begun).toEqual(["kept"]);
    // Its id is free for another one.
    expect(await (await session.call(7, "again", 70_000)).text()).toContain('"id":7');
    expect(begun).toEqual(["kept", "again"]);
  });

  test("a long one that did not tell its length takes what it holds once it is read", async () => {
    const { call, begun, open } = openHeldWay();
    const calls = Array.from({ length: 20 }, () => call("one", "any", { bytes: 70_000 }));
    await settle();
    expect(begun.length).toBe(20);
    open();
    expect(await readStatuses(calls)).toEqual(new Set([200]));
  });

  test("streams that began with a long message keep no room from others", async () => {
    const { call, listen } = openWay();
    const bytes = 4 * mebibyte - 1000;
    const keys = ["one", "one", "another", "another"];
    const streams = await Promise.all(keys.map(async (key) => listen(key, { bytes })));
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect((await call("third", "any", { bytes })).status).toBe(200);
    await Promise.all(streams.map(async ({ body }) => body?.cancel()));
  });
});

test("while a hundred users of a key are asked, its others call as they like", async () => {
  await using ground = await openGround();
  const { key } = await ground.addTenant();
  const { mcp } = ground.serving.places;
  const link = { path: "one", url: "https://a.example" };
  await post(mcp, modernCall(key, 1, "create_link", link));
  const leaving = new AbortController();
  const shake = async () => {
    const { status, headers } = await post(mcp, withSession(key, undefined, handshakeWithForms));
    expect(status).toBe(200);
    return String(headers["mcp-session-id"]);
  };
  const sessions = await Promise.all(Array.from({ length: 300 }, shake));
  await Promise.all(
    sessions.slice(0, 120).map(async (session) => {
      const { headers, body } = withSession(key, session, callOf(1, "delete_link", { id: "one" }));
      const init = { method: "POST", headers, body, signal: leaving.signal };
      await readUntil((await fetch(mcp, init)).body?.getReader(), /elicitation\/create/);
    }),
  );
  const calls = sessions.map((session, at) => {
    const call =
      at % 2 === 0
        ? withSession(key, session, callOf(2, "get_link", { id: "one" }))
        : modernCall(key, 1, "list_links");
    return post(mcp, call);
  });
  const statuses = (await Promise.all(calls)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200]));
  leaving.abort();
});

async function readRefusal(answer: Response) {
  return { status: answer.status, headers: answer.headers, json: await answer.json() };
}

function isRead({ isRead: asked }: { readonly isRead: () => boolean }): boolean {
  return asked();
}

type Reader = ReadableStreamDefaultReader<Uint8Array> | undefined;

async function readUntil(reader: Reader, pattern: RegExp): Promise<readonly string[]> {
  const decoder = new TextDecoder();
  for (let text = ""; ;) {
    const read = await reader?.read();
    if (read?.value === undefined) throw new Error(`it ended with ${text}`);
    text += decoder.decode(read.value);
    const found = pattern.exec(text);
    if (found !== null) return found;
  }
}
