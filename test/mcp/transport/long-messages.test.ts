import { describe, expect, test } from "vitest";
import { openHeldWay, openWay, readStatuses, readUntil, settle } from "../../support/mcp-way.ts";

/** Messages of up to four megabytes: which are read, and which wait for room. */

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
