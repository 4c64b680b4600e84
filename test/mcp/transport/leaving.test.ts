import { request as sendRequest } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSqlite } from "../../../src/sql/sqlite.ts";
import type { StateTables } from "../../../src/state/tables.ts";
import { createUsedFolder } from "../../support/command.ts";
import {
  openTestServer,
  modernCall,
  post,
  withSession,
  callOf,
  handshake,
  startRaw,
} from "../../support/mcp-http.ts";
import { waitUntil } from "../../support/clock.ts";

/** A plan is deleted completely when its client disconnects or cancels. */

const rows = Array.from({ length: 9000 }, (_, row) => ({
  path: `p${row}`,
  url: "https://x.example",
}));
const planning = { operation: "upsert", rows } as const;
/** Two of the plans run, and the third waits. */
const plans = 3;

async function openMemory(data: string) {
  const file = join(data, "state.db");
  const sql = await openSqlite<StateTables>(file, { applicationId: 0x57415953 });
  const count = async (table: "plans" | "plan_rows") => {
    const counted = sql.db.selectFrom(table).select((row) => row.fn.countAll<number>().as("count"));
    return (await counted.executeTakeFirstOrThrow()).count;
  };
  return {
    count: async () => (await count("plans")) + (await count("plan_rows")),
    [Symbol.asyncDispose]: sql.close,
  };
}

/** Disconnects or cancels while plans are being stored, and waits until all of them are deleted. */
async function leave(data: string, leaving: () => unknown): Promise<void> {
  await using memory = await openMemory(data);
  await waitUntil(async () => (await memory.count()) > 500);
  await leaving();
  await waitUntil(async () => (await memory.count()) === 0);
}

test("an unfinished plan is deleted when a 2026-07-28 client disconnects", async () => {
  await using testServer = await openTestServer();
  const { key } = await testServer.addTenant();
  const { mcp } = testServer.serving.places;
  await post(mcp, modernCall(key, 0, "list_jobs"));
  const { headers, body } = modernCall(key, 1, "plan_links", planning);
  const sent = Array.from({ length: plans }, () => send(mcp, headers, body));
  await leave(testServer.data, () => sent.forEach((request) => request.destroy()));
  // The next plan does not wait behind the deleted plans.
  const small = { operation: "upsert", rows: rows.slice(0, 1) };
  const { text } = await post(mcp, modernCall(key, 2, "plan_links", small));
  expect(text).toContain('"create":1');
});

test("an unfinished plan is deleted when a client with a session disconnects", async () => {
  await using testServer = await openTestServer();
  const { key } = await testServer.addTenant();
  const { mcp } = testServer.serving.places;
  const opened = await post(mcp, withSession(key, undefined, handshake[0]));
  const session = String(opened.headers["mcp-session-id"]);
  await post(mcp, withSession(key, session, handshake[1]));
  await post(mcp, withSession(key, session, callOf(0, "list_jobs")));
  const sent = Array.from({ length: plans }, (_, id) => {
    const { headers, body } = withSession(key, session, callOf(id + 1, "plan_links", planning));
    return send(mcp, headers, body);
  });
  await leave(testServer.data, () => sent.forEach((request) => request.destroy()));
});

test("an unfinished plan is deleted when its client cancels the request over stdio", async () => {
  await using folder = await createUsedFolder();
  await using session = startRaw({ data: folder.path });
  await session.handshake();
  session.send(callOf("first", "list_jobs"));
  await session.answer("first");
  const ids = Array.from({ length: plans }, (_, index) => `plan-${index}`);
  session.send(...ids.map((id) => callOf(id, "plan_links", planning)));
  await leave(folder.path, () => {
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled" };
    session.send(...ids.map((requestId) => ({ ...cancelled, params: { requestId } })));
  });
});

function send(url: string, headers: Record<string, string>, body: string) {
  const request = sendRequest(url, { method: "POST", headers });
  // The test aborts this request, which causes an error event.
  request.on("error", () => undefined);
  request.end(body);
  return request;
}
