import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFolder, startServe, type Folder, type Serving } from "../../support/command.ts";
import { modernCall, post, startRaw } from "../../support/mcp-http.ts";

/** Arguments that are nested without an end: refused as arguments, by whichever way they come. */

const levels = 100_000;
const lists = "[".repeat(levels) + "]".repeat(levels);
const objects = `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
const csvOf = (cell: string) =>
  `url,~channel,data\nhttps://s.app.link/a,,"${cell.replaceAll('"', '""')}"`;

const calls: readonly (readonly [tool: string, args: string])[] = [
  ["plan_links", `{"operation":"upsert","rows":[{"path":"a","clicks":${lists}}]}`],
  ["plan_links", `{"operation":"upsert","rows":[{"path":"a","name":${objects}}]}`],
  ["plan_links", `{"operation":"upsert","rows":${JSON.stringify(`[{"clicks":${lists}}]`)}}`],
  ["plan_links", `{"operation":"update","filters":${lists},"changes":{}}`],
  ["create_link", `{"path":"a","ios_app":${objects}}`],
  ["get_link", objects],
];

let folder: Folder;
let serving: Serving;

beforeAll(async () => {
  folder = await createFolder();
  serving = await startServe(folder.path);
});

afterAll(async () => {
  expect((await serving.stop()).stderr).not.toContain("unexpected error");
  await folder[Symbol.asyncDispose]();
});

/** The JSON of a call with arguments that JSON.stringify could not write. */
const fill = (body: string, args: string) => body.replace('{"here":0}', () => args);

describe.each(calls)("%s", (tool, args) => {
  test(`over HTTP: ${args.slice(0, 50)}`, async () => {
    const { headers, body } = modernCall(serving.key, 1, tool, { here: 0 });
    const { status, text } = await post(serving.places.mcp, { headers, body: fill(body, args) });
    expect(status).toBe(200);
    const { error } = JSON.parse(text).result.structuredContent;
    expect(error).toMatchObject({ code: "invalid_arguments", effect: "none", retry: "now" });
    expect(error.message).toBe("arguments are nested too deeply: at most 32 levels");
  });
});

test("over stdio as well, and the next call is answered", async () => {
  await using session = startRaw({ data: folder.path });
  await session.handshake();
  for (const [id, [name, args]] of calls.entries()) {
    const params = { name, arguments: { here: 0 } };
    session.send(fill(JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params }), args));
    const { result } = await session.answer(id);
    expect(result.structuredContent.error).toMatchObject({ code: "invalid_arguments" });
  }
});

test("a cell that holds such JSON is a text", async () => {
  const { headers, body } = modernCall(serving.key, 1, "plan_links", {
    operation: "upsert",
    csv: csvOf(objects),
  });
  const { text } = await post(serving.places.mcp, { headers, body });
  expect(JSON.parse(text).result.structuredContent.plan.counts).toMatchObject({ create: 1 });
});

test("what is nested as deep as links are is taken", async () => {
  const rows = [{ path: "b", ios_app: { bundle_id: "com.shop", team_id: "TEAM000001" } }];
  const { headers, body } = modernCall(serving.key, 1, "plan_links", { operation: "upsert", rows });
  const { text } = await post(serving.places.mcp, { headers, body });
  expect(JSON.parse(text).result.structuredContent.plan.counts).toMatchObject({ create: 1 });
});
