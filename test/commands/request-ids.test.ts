import { join } from "node:path";
import { expect, test } from "vitest";
import { openDatabase } from "../../src/sql/engine.ts";
import { createUsedFolder, createServed, startServe, type Serving } from "../support/command.ts";
import { visitAt } from "../support/link-host.ts";
import { answerEmpty, startDeployment } from "../support/remote.ts";
import {
  modernCall,
  post,
  withSession,
  type HttpPost,
  callOf,
  handshake,
} from "../support/mcp-http.ts";

/** One ID for a request, its response, its log lines and its remote requests. */

const header = "x-request-id";

test("a response contains the request's ID if that ID is valid, or else a new ID", async () => {
  await using served = await createServed();
  const { places, key } = served.serving;
  const json = { "content-type": "application/json" };
  const asked: readonly (readonly [string, HttpPost])[] = [
    [`${places.api}/links`, { method: "GET" }],
    [`${places.api}/links`, { headers: json, body: '{"path":"a","url":"https://a.example"}' }],
    [`${places.api}/nothing`, { method: "GET" }],
    [places.mcp, modernCall(key, 1, "list_links")],
    [places.mcp, { body: "{}" }],
  ];
  const made: unknown[] = [];
  for (const [url, { headers, ...given }] of asked) {
    const authorized = { authorization: `Bearer ${key}`, ...headers };
    const named = await post(url, {
      ...given,
      headers: { ...authorized, [header]: "mine:1-a.b_c" },
    });
    expect(named.headers[header]).toBe("mine:1-a.b_c");
    for (const hostile of ["", "short", "a".repeat(65), 'quo"te-and-space in it', "näme-of-mine"]) {
      const value = Buffer.from(hostile).toString("latin1");
      const answer = await post(url, { ...given, headers: { ...authorized, [header]: value } });
      made.push(answer.headers[header]);
    }
    made.push((await post(url, { ...given, headers: authorized })).headers[header]);
  }
  for (const id of made) expect(id).toMatch(/^[\w-]{12}-[\da-z]+$/);
  expect(new Set(made).size).toBe(made.length);
});

test("a logged error includes the ID of the REST request or tool call", async () => {
  await using served = await createServed();
  const { folder, serving } = served;
  const { places, key } = serving;
  const database = openDatabase(join(folder.path, "waypost.db"));
  database.exec("ALTER TABLE links RENAME TO elsewhere");
  const id = "00000000-0000-7000-8000-000000000000";
  const rest = await post(`${places.api}/links/${id}`, {
    method: "GET",
    headers: { authorization: `Token ${key}`, [header]: "over-rest" },
  });
  expect(rest.status).toBe(500);
  const call = modernCall(key, 1, "get_link", { id });
  // The second call bypasses the SDK.
  for (const named of ["by-a-tool-1", "by-a-tool-2"]) {
    await post(places.mcp, { ...call, headers: { ...call.headers, [header]: named } });
  }
  database.exec("ALTER TABLE elsewhere RENAME TO links");
  database.close();
  const { logged } = await readLog(serving);
  const requests = logged.map(({ msg, request }) => [msg, request]);
  expect(requests).toContainEqual(["unexpected error", "over-rest"]);
  expect(requests).toContainEqual(["unexpected error", "by-a-tool-1"]);
  expect(requests).toContainEqual(["unexpected error", "by-a-tool-2"]);
});

test("at log level debug, requests, tool calls, MCP messages and visits are logged", async () => {
  await using folder = await createUsedFolder();
  await using serving = await startServe(folder.path, ["--log", "debug"]);
  const { places, key } = serving;
  const link = { path: "one", url: "https://secret.example/of-a-stranger" };
  const call = modernCall(key, 1, "create_link", link);
  for (const named of ["makes-it-1", "makes-it-2"]) {
    await post(places.mcp, { ...call, headers: { ...call.headers, [header]: named } });
  }
  const { port } = new URL(places.url);
  await visitAt(Number(port), "/one", { host: `default.localhost:${port}` });
  const rows = [{ path: "two", url: "https://a.example" }];
  const planning = modernCall(key, 1, "plan_links", { operation: "upsert", rows });
  const planned = await post(places.mcp, planning);
  const { plan } = JSON.parse(planned.text).result.structuredContent;
  const apply = modernCall(key, 2, "apply_plan", { plan_id: plan.id });
  await post(places.mcp, { ...apply, headers: { ...apply.headers, [header]: "of-the-job" } });
  const { logged, stderr } = await readLog(serving);
  const ofRequest = (id: string) => logged.filter(({ request }) => request === id);
  expect(ofRequest("makes-it-1")).toContainEqual(
    expect.objectContaining({ msg: "request", method: "POST", route: "/links", status: 201 }),
  );
  expect(ofRequest("makes-it-1").slice(-2)).toMatchObject([
    { msg: "tool call", tool: "create_link", end: "ok" },
    { msg: "message to /mcp", status: 200 },
  ]);
  const { ms } = ofRequest("makes-it-1").find(({ msg }) => msg === "tool call") ?? {};
  expect(ms).toBeGreaterThan(0);
  expect(ofRequest("makes-it-2")).toContainEqual(
    expect.objectContaining({ msg: "tool call", end: "validation_failed" }),
  );
  expect(logged.filter(({ msg }) => msg === "visit")).toMatchObject([{ status: 302 }]);
  // Requests of a job have the ID of the call that applied it.
  const named = { msg: "request", request: "of-the-job", method: "POST", route: "/links/upsert" };
  expect(logged).toContainEqual(expect.objectContaining({ ...named, status: 201 }));
  expect(stderr).not.toContain("secret.example");
  expect(stderr).not.toContain(key);
});

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

test("a log line includes the request's traceparent only if that header is valid", async () => {
  await using folder = await createUsedFolder();
  await using serving = await startServe(folder.path, ["--log", "debug"]);
  const { places, key } = serving;
  const { port } = new URL(places.url);
  const call = callOf(1, "list_links");
  for (const given of [traceparent, "of-a-stranger", `${traceparent}-more`]) {
    const headers = { authorization: `Token ${key}`, traceparent: given };
    await post(`${places.api}/links`, { method: "GET", headers });
    await visitAt(Number(port), "/one", {
      host: `default.localhost:${port}`,
      headers: { traceparent: given },
    });
    const message = { ...call, params: { ...call.params, _meta: { traceparent: given } } };
    const sent = withSession(key, undefined, handshake[0]);
    const opened = await post(places.mcp, {
      ...sent,
      headers: { ...sent.headers, traceparent: given },
    });
    const session = String(opened.headers["mcp-session-id"]);
    await post(places.mcp, withSession(key, session, message));
  }
  const database = openDatabase(join(folder.path, "waypost.db"));
  database.exec("ALTER TABLE links RENAME TO elsewhere");
  database.close();
  const headers = { authorization: `Token ${key}`, traceparent };
  const unread = `${places.api}/links/00000000-0000-7000-8000-000000000000`;
  expect((await post(unread, { method: "GET", headers })).status).toBe(500);
  const { logged, stderr } = await readLog(serving);
  const traced = logged.filter((line) => line["traceparent"] === traceparent);
  const names = traced.map(({ msg }) => String(msg));
  expect(names.toSorted()).toEqual([
    "message to /mcp",
    "request",
    "request",
    "tool call",
    "unexpected error",
    "visit",
  ]);
  expect(stderr).not.toContain("of-a-stranger");
  expect(stderr).not.toContain(`${traceparent}-more`);
});

test("a gateway forwards the request ID of a tool call to the remote server", async () => {
  const seen: unknown[] = [];
  await using deployment = await startDeployment((request, response) => {
    seen.push(request.headers[header]);
    return answerEmpty(request, response);
  });
  await using folder = await createUsedFolder();
  const env = {
    WAYPOST_BASE_URL: deployment.url,
    WAYPOST_API_KEY: "its-own-key",
    WAYPOST_PROBE: "off",
  };
  await using serving = await startServe(folder.path, [], { env });
  const call = modernCall(serving.key, 1, "list_links");
  await post(serving.places.mcp, { ...call, headers: { ...call.headers, [header]: "through-us" } });
  expect(seen).toContain("through-us");
});

async function readLog({ stop }: Serving) {
  const { stderr } = await stop();
  const lines = stderr.split("\n").filter((line) => line.startsWith("{"));
  const logged = lines.map((line): Record<string, unknown> => JSON.parse(line));
  return { logged, stderr };
}
