import { afterAll, describe, expect, test } from "vitest";
import { createServed, type Folder, type Serving } from "../../support/command.ts";
import { modernCall, post, startRaw } from "../../support/mcp-http.ts";
import { openForAll } from "../../support/open-for.ts";

/** Arguments that are nested too deeply are rejected over HTTP and stdio. */

const levels = 100_000;
const lists = "[".repeat(levels) + "]".repeat(levels);
const objects = `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
const csvOf = (cell: string) =>
  `url,~channel,data\nhttps://s.app.link/a,,"${cell.replaceAll('"', '""')}"`;

const calls: readonly (readonly [tool: string, args: string])[] = [
  ["plan_links", `{"operation":"upsert","rows":[{"path":"a","clicks":${lists}}]}`],
  ["plan_links", `{"operation":"upsert","rows":${JSON.stringify(`[{"clicks":${lists}}]`)}}`],
  ["create_link", `{"path":"a","ios_app":${objects}}`],
  ["get_link", objects],
];

let folder: Folder;
let serving: Serving;
openForAll(createServed, (opened) => ({ folder, serving } = opened));

afterAll(async () => {
  expect((await serving.stop()).stderr).not.toContain("unexpected error");
});

/** Inserts arguments as text, because JSON.stringify cannot write deeply nested values. */
const fill = (body: string, args: string) => body.replace('{"here":0}', () => args);

describe.each(calls)("deeply nested arguments of %s", (tool, args) => {
  test(`cause an error over HTTP: ${args.slice(0, 50)}`, async () => {
    const { headers, body } = modernCall(serving.key, 1, tool, { here: 0 });
    const { status, text } = await post(serving.places.mcp, { headers, body: fill(body, args) });
    expect(status).toBe(200);
    const { error } = JSON.parse(text).result.structuredContent;
    expect(error).toMatchObject({ code: "invalid_arguments", effect: "none", retry: "now" });
    expect(error.message).toBe("arguments are nested too deeply: at most 32 levels");
  });
});

test("deeply nested arguments are rejected over stdio, and the next call works", async () => {
  await using session = startRaw({ data: folder.path });
  await session.handshake();
  for (const [id, [name, args]] of calls.entries()) {
    const params = { name, arguments: { here: 0 } };
    session.send(fill(JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params }), args));
    const { result } = await session.answer(id);
    expect(result.structuredContent.error).toMatchObject({ code: "invalid_arguments" });
  }
});

test("deeply nested JSON in a CSV cell is treated as text", async () => {
  const { headers, body } = modernCall(serving.key, 1, "plan_links", {
    operation: "upsert",
    csv: csvOf(objects),
  });
  const { text } = await post(serving.places.mcp, { headers, body });
  expect(JSON.parse(text).result.structuredContent.plan.counts).toMatchObject({ create: 1 });
});
