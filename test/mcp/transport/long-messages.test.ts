import { describe, expect, test } from "vitest";
import { openHeldMcp, openMcp, readStatuses, readUntil, settle } from "../../support/open-mcp.ts";

/** Tests which messages of up to 4 MiB are read, wait or are rejected. */

const mebibyte = 1024 * 1024;

describe("long messages", () => {
  test("are read one at a time for each key, but do not delay short messages", async () => {
    const { begin, call } = openMcp();
    const bytes = 4 * mebibyte;
    const all = ["one", "one", "another"].map((key) => begin(key, { bytes }));
    await settle();
    const listRead = () => all.map(({ isRead }) => isRead());
    expect(listRead()).toEqual([true, false, true]);
    expect((await call("one")).status).toBe(200);
    all[0]?.end();
    await settle();
    expect(listRead()).toEqual([true, true, true]);
    for (const { end } of all.slice(1)) end();
  });

  test("are rejected after waiting ten seconds for an earlier long message", async () => {
    const { begin, call, advance, open } = openHeldMcp();
    const bytes = 4 * mebibyte - 1000;
    // The first message is processed until the end of the test.
    const held = call("one", "any", { bytes });
    await settle();
    const late = begin("one", { bytes });
    await settle();
    advance(10_000);
    const refused = await late.answered;
    expect([refused.status, refused.headers.get("retry-after"), late.isRead()]).toEqual([
      503,
      "1",
      false,
    ]);
    const data = { code: "overloaded", effect: "none", retry: "later", retry_after_s: 1 };
    expect(await refused.json()).toMatchObject({
      jsonrpc: "2.0",
      id: null,
      error: { code: -32001, data },
    });
    open();
    expect((await held).status).toBe(200);
    const next = begin("one", { bytes });
    await settle();
    expect(next.isRead()).toBe(true);
    next.end();
  });

  test("can be sent without a Content-Length", async () => {
    const { call, begun, open } = openHeldMcp();
    const calls = Array.from({ length: 20 }, () => call("one", "any", { bytes: 70_000 }));
    await settle();
    expect(begun.length).toBeGreaterThan(10);
    open();
    expect(await readStatuses(calls)).toEqual(new Set([200]));
  });

  test("are rejected if they would open a stream or a session", async () => {
    const { listen } = openMcp();
    expect((await listen("one", { bytes: 70_000 })).status).toBe(413);
  });

  test("do not delay other messages while the calls in them wait for an approval", async () => {
    const params = { message: "?", requestedSchema: { type: "object", properties: {} } } as const;
    const way = openMcp(async (tool, { mcpReq }) => {
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
    for (const reader of asking) await reader?.cancel();
  });
});
