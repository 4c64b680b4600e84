import { describe, expect, test } from "vitest";
import { callOf } from "../../support/mcp-raw.ts";
import { openHeldWay, openWay, readStatuses, readUntil, settle } from "../../support/mcp-way.ts";

/** Messages of up to four megabytes: which are read, and which wait for room or make way. */

const mebibyte = 1024 * 1024;

describe("long messages", () => {
  test("are read as room for them is there, keys in turn", async () => {
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
    const { begin, call, advance, open } = openHeldWay();
    const bytes = 4 * mebibyte - 1000;
    // What is there, and worked on, keeps its room for as long as that takes.
    const held = ["one", "one", "another", "another"].map((key) => call(key, "any", { bytes }));
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
    open();
    expect(await readStatuses(held)).toEqual(new Set([200]));
    // What was refused takes no room either.
    const next = begin("third", { bytes });
    await settle();
    expect(next.isRead()).toBe(true);
    next.end();
  });

  test("a long one that arrives slowly makes way where others wait for room", async () => {
    const { begin, advance } = openWay();
    const bytes = 4 * mebibyte;
    const slow = ["one", "one", "another", "another"].map((key) => begin(key, { bytes }));
    const answers: Response[] = [];
    for (const { answered } of slow) void answered.then((answer) => answers.push(answer));
    await settle();
    advance(20_000);
    await settle();
    expect(answers).toEqual([]);
    const [waiting, behind] = [begin("third", { bytes }), begin("one", { bytes })];
    await settle();
    advance(3999);
    await settle();
    expect([answers, waiting.isRead(), behind.isRead()]).toEqual([[], false, false]);
    advance(1);
    await settle();
    expect([waiting.isRead(), behind.isRead()]).toEqual([true, true]);
    const told = await Promise.all(answers.map(readRefusal));
    expect(told.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
    const message = expect.stringMatching(/^This long message arrived slowly while others waited/);
    for (const { json } of told) expect(json).toMatchObject({ error: { message } });
    // They have as long as the others had, and for nobody's sake less than that.
    advance(60_000);
    await settle();
    for (const { end } of [waiting, behind, ...slow]) end();
    expect(await readStatuses([waiting.answered, behind.answered])).toEqual(new Set([400]));
  });

  test("a long one that comes fast enough to be there in time keeps its room", async () => {
    const { begin, advance } = openWay();
    const bytes = 4 * mebibyte;
    const four_s = Math.ceil((bytes * 4) / 30);
    const held = ["one", "one", "another", "another"].map((key) => begin(key, { bytes }));
    const answers: Response[] = [];
    for (const { answered } of held) void answered.then((answer) => answers.push(answer));
    await settle();
    const late = begin("third", { bytes });
    await settle();
    const pass = async (sending: typeof held, time_ms = 4000) => {
      for (const { send } of sending) send(four_s);
      await settle();
      advance(time_ms);
      await settle();
    };
    await pass(held);
    await pass(held);
    expect([answers, late.isRead()]).toEqual([[], false]);
    advance(2000);
    expect((await late.answered).status).toBe(503);
    const next = begin("third", { bytes });
    await settle();
    // One of them stands still from now on, and makes way alone.
    const [still, ...others] = held;
    await pass(others, 2000);
    expect(answers.map(({ status }) => status)).toEqual([503]);
    expect((await still?.answered)?.status).toBe(503);
    expect(next.isRead()).toBe(true);
    for (const { end } of [next, ...others]) end();
  });

  test("a slow one makes way for nobody who waits for a share of its own", async () => {
    const { begin, advance } = openWay();
    const bytes = 4 * mebibyte;
    const slow = begin("another", { bytes });
    const greedy = [1, 2, 3].map(() => begin("one", { bytes }));
    await settle();
    advance(8000);
    await settle();
    expect(greedy.map(isRead)).toEqual([true, true, true]);
    let isAnswered = false;
    void slow.answered.then(() => (isAnswered = true));
    await settle();
    expect(isAnswered).toBe(false);
    for (const { end } of [slow, ...greedy]) end();
    expect((await slow.answered).status).toBe(400);
    const [first, second, third] = greedy.map(({ answered }) => answered);
    expect((await third)?.status).toBe(400);
    for (const lost of [first, second]) expect((await lost)?.status).toBe(503);
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

  test("of whoever waits for a person keep no room from the key's others", async () => {
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
});

async function readRefusal(answer: Response) {
  return { status: answer.status, headers: answer.headers, json: await answer.json() };
}

function isRead({ isRead: asked }: { readonly isRead: () => boolean }): boolean {
  return asked();
}
