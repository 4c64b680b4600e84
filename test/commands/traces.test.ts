import { expect, test } from "vitest";
import { createFolder, run, startServe } from "../support/command.ts";
import { visit } from "../support/listening.ts";
import { answerEmpty, startDeployment } from "../support/mcp-deployment.ts";
import { modernCall, post, withSession } from "../support/mcp-post.ts";
import { callOf, handshake, startRaw } from "../support/mcp-raw.ts";
import { collectSpans, failed, kinds, listPath, type Span, type Spans } from "../support/spans.ts";
import { waitUntil } from "../support/wait-until.ts";

/** Spans for the SDK that the operator has preloaded into the command. */

const traceId = "0af7651916cd43dd8448eb211c80319c";
const sender = "b7ad6b7169203331";
const traceparent = `00-${traceId}-${sender}-01`;
const sent = { traceparent, tracestate: "theirs=1" };

test("a call of a tool, and all that it leads to, are in the trace of its request", async () => {
  using spans = collectSpans();
  await using folder = await createFolder();
  await using serving = await startServe(folder.path, [], { env: spans.env });
  const { places, key } = serving;
  const made = { path: "one", url: "https://a.example" };
  await serving.call("POST", "/links", { body: made, headers: sent });
  const written = await readEnded(spans, "POST /api/v1/links");
  const paths = written.map((span) => listPath(written, span).join(" > "));
  expect(paths).toContain("POST /api/v1/links > transaction > insert links");
  expect(paths).toContain("POST /api/v1/links > select api_keys");
  // The second goes past the SDK, which has let the first through.
  for (const id of [1, 2]) {
    const call = modernCall(key, id, "get_link", { id: "one" });
    const named = { ...sent, "x-request-id": `by-test-${id}` };
    await post(places.mcp, { ...call, headers: { ...call.headers, ...named } });
  }
  const all = await readEnded(spans, "POST /mcp", 2);
  for (const name of ["POST /mcp", "tools/call get_link", "GET /api/v1/links/:id"]) {
    const ids = all.filter((span) => span.name === name).map(({ attributes }) => attributes);
    const wanted = ["by-test-1", "by-test-2"];
    expect(ids.map((attributes) => attributes["waypost.request.id"])).toEqual(wanted);
  }
  const read = all.filter(({ name }) => name === "select links").map((span) => listPath(all, span));
  const wanted = ["POST /mcp", "tools/call get_link", "GET /api/v1/links/:id", "select links"];
  expect(read.filter((path) => path.join() === wanted.join())).toHaveLength(2);
  expect(new Set(all.map((span) => span.trace))).toEqual(new Set([traceId]));
  expect(new Set(all.map((span) => span.state))).toEqual(new Set(["theirs=1"]));
  const [outer, call] = wanted.map((name) => all.find((span) => span.name === name));
  expect(outer).toMatchObject({
    kind: kinds.server,
    parent: sender,
    attributes: {
      "http.request.method": "POST",
      "http.route": "/mcp",
      "http.response.status_code": 200,
    },
  });
  expect(call).toMatchObject({
    kind: kinds.server,
    attributes: {
      "mcp.method.name": "tools/call",
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "get_link",
    },
  });
  const insert = all.find(({ name }) => name === "insert links");
  expect(insert?.attributes["db.system.name"]).toBe("sqlite");
  expect(insert?.attributes["db.query.text"]).toContain('insert into "links"');
});

test("a visit is a span, beside its metrics, and so is a call that has failed", async () => {
  using spans = collectSpans();
  await using folder = await createFolder();
  const env = { ...spans.env, WAYPOST_METRICS_TOKEN: "of-the-scraper" };
  await using serving = await startServe(folder.path, [], { env });
  const { places, key } = serving;
  await serving.call("POST", "/links", { body: { path: "one", url: "https://a.example" } });
  const { port } = new URL(places.url);
  await visit(`http://default.localhost:${port}/one?utm_source=somebody`);
  await post(places.mcp, modernCall(key, 1, "get_link", { id: "two" }));
  await post(`http://127.0.0.1:${port}/api/v1/nothing`, {
    method: "GET",
    headers: { host: "x.y" },
  });
  const all = await readEnded(spans, "POST /mcp");
  expect(all.find(({ name }) => name === "GET /{path}")).toMatchObject({
    kind: kinds.server,
    attributes: { "http.request.method": "GET", "http.response.status_code": 302 },
  });
  expect(all.find(({ name }) => name === "tools/call get_link")).toMatchObject({
    attributes: { "error.type": "tool_error", "waypost.outcome": "not_found" },
    status: { code: failed, message: "not_found" },
  });
  const headers = { authorization: "Bearer of-the-scraper" };
  const { text } = await post(`${places.url}/metrics`, { method: "GET", headers });
  expect(text).toContain('waypost_visits_total{status="3xx"} 1');
  expect(text).toContain('waypost_tool_calls_total{tool="get_link",outcome="not_found"} 1');
});

test("a trace that a client names in `_meta` goes before that of the request", async () => {
  using spans = collectSpans();
  await using folder = await createFolder();
  await using serving = await startServe(folder.path, [], { env: spans.env });
  const { places, key } = serving;
  const opened = await post(places.mcp, withSession(key, undefined, handshake[0]));
  const session = String(opened.headers["mcp-session-id"]);
  await post(places.mcp, withSession(key, session, handshake[1]));
  const told = callOf(1, "list_links");
  // One after the other by the SDK and past it.
  for (const id of [1, 2]) {
    const message = { ...told, id, params: { ...told.params, _meta: { traceparent } } };
    await post(places.mcp, withSession(key, session, message));
  }
  const all = await readEnded(spans, "POST /mcp", 4);
  const requests = all.filter(({ name }) => name === "POST /mcp").map(({ id }) => id);
  const calls = all.filter(({ name }) => name === "tools/call list_links");
  expect(calls).toHaveLength(2);
  for (const { trace, parent, links } of calls) {
    expect([trace, parent]).toEqual([traceId, sender]);
    expect(requests).toContain(links[0]);
  }
});

test("over stdio, too; what is no trace is not looked at", async () => {
  using spans = collectSpans();
  await using folder = await createFolder();
  await using raw = startRaw({ data: folder.path, env: spans.env });
  await raw.handshake();
  const hostile = [
    "",
    "00-1-2-3",
    `${traceparent}-more`,
    `00-${"0".repeat(32)}-${sender}-01`,
    7,
    {},
  ];
  const { params, ...message } = callOf(0, "list_links");
  for (const [at, given] of [traceparent, ...hostile].entries()) {
    const told = { ...params, _meta: { traceparent: given, tracestate: ["x"] } };
    raw.send({ ...message, id: at, params: told });
    expect((await raw.answer(at)).result.structuredContent.links).toEqual([]);
  }
  const calls = await readNamed(spans, "tools/call list_links", hostile.length + 1);
  expect(calls.filter(({ trace }) => trace === traceId).map(({ parent }) => parent)).toEqual([
    sender,
  ]);
  expect(new Set(calls.map(({ trace }) => trace)).size).toBe(hostile.length + 1);
  expect(calls.filter(({ parent }) => parent !== undefined)).toHaveLength(1);
});

test("a deployment elsewhere is told of the trace, and of nothing else that came", async () => {
  using spans = collectSpans();
  await using deployment = await startDeployment(answerEmpty);
  await using folder = await createFolder();
  const env = {
    ...spans.env,
    WAYPOST_BASE_URL: deployment.url,
    WAYPOST_API_KEY: "its-own-key",
    WAYPOST_PROBE: "off",
  };
  await using serving = await startServe(folder.path, [], { env });
  const call = modernCall(serving.key, 1, "list_links");
  const headers = { ...call.headers, ...sent, baggage: "user=somebody" };
  await post(serving.places.mcp, { ...call, headers });
  const all = await readEnded(spans, "POST /mcp");
  const asked = deployment.requests.find(({ headers: own }) => own["tracestate"] === "theirs=1");
  const [, trace, id] = String(asked?.headers["traceparent"]).split("-");
  const out = all.find((span) => span.id === id);
  expect([trace, out?.trace, out?.kind]).toEqual([traceId, traceId, kinds.client]);
  expect(asked?.headers["baggage"]).toBeUndefined();
  expect(out && listPath(all, out)).toEqual(["POST /mcp", "tools/call list_links", "GET"]);
  expect(out?.attributes).toMatchObject({
    "server.address": "127.0.0.1",
    "http.response.status_code": 200,
  });
});

test("each row of a job has a trace of its own, and the id of its call", async () => {
  using spans = collectSpans();
  await using folder = await createFolder();
  await using serving = await startServe(folder.path, [], { env: spans.env });
  const { places, key } = serving;
  const rows = ["one", "two"].map((path) => ({ path, url: "https://a.example" }));
  const planned = await post(
    places.mcp,
    modernCall(key, 1, "plan_links", { operation: "upsert", rows }),
  );
  const { plan } = JSON.parse(planned.text).result.structuredContent;
  const call = modernCall(key, 2, "apply_plan", { plan_id: plan.id });
  await post(places.mcp, { ...call, headers: { ...call.headers, "x-request-id": "of-the-job" } });
  const done = await readNamed(spans, "job row", 2);
  const [applied] = await readNamed(spans, "tools/call apply_plan", 1);
  expect(new Set([applied?.trace, ...done.map(({ trace }) => trace)]).size).toBe(3);
  for (const { id, links, trace, attributes } of done) {
    expect(links).toEqual([applied?.id]);
    expect(attributes["waypost.outcome"]).toBe("done");
    const asked = spans.read().filter(({ parent }) => parent === id);
    const ids = asked.map((span) => span.attributes["waypost.request.id"]).filter(Boolean);
    expect([...new Set(ids)]).toEqual(["of-the-job"]);
    const names = spans.read().filter((span) => span.trace === trace);
    expect(names.map(({ name }) => name)).toContain("insert links");
  }
});

test("a span has nothing in it that is secret, or that somebody wrote", async () => {
  using spans = collectSpans();
  await using folder = await createFolder();
  await using serving = await startServe(folder.path, [], { env: spans.env });
  const { places, key } = serving;
  const { port } = new URL(places.url);
  const body = { path: "mark-path", url: "https://mark-host.example/?mark=1", name: "mark name" };
  for (let times = 0; times < 2; times += 1) await serving.call("POST", "/links", { body });
  await serving.call("GET", "/mark-unknown");
  await serving.call("GET", "/links", { query: "q[name_cont]=mark&f[any_cont]=mark" });
  const find = [{ field: "name", condition: "cont", value: "mark" }];
  await post(places.mcp, modernCall(key, 1, "list_links", { filters: find }));
  await post(places.mcp, modernCall(key, 2, "get_link", { id: "mark-path" }));
  await post(places.mcp, modernCall(key, 3, "mark_tool", { mark: "mark" }));
  await post(places.mcp, modernCall("mark-key", 4, "list_links"));
  await visit(`http://default.localhost:${port}/mark-path?mark=1`);
  await visit(`http://mark.localhost:${port}/mark`);
  const all = await readEnded(spans, "POST /mcp", 4);
  expect(all.length).toBeGreaterThan(20);
  const text = spans.readText();
  for (const secret of ["mark", key, folder.path, "127.0.0.1"]) expect(text).not.toContain(secret);
  expect(all.filter(({ events }) => events > 0)).toEqual([]);
});

test("what is older than the API that is built in is told of, and left alone", async () => {
  await using folder = await createFolder();
  const older = `globalThis[Symbol.for("opentelemetry.js.api.1")]={version:"1.8.0",trace:{}}`;
  const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(older)}` };
  await using serving = await startServe(folder.path, [], { env });
  expect((await serving.call("GET", "/links")).status).toBe(200);
  const { stderr } = await serving.stop();
  expect(stderr).toContain('"preloaded":"1.8.0"');
  const { code } = await run(["--version"], { env });
  expect(code).toBe(0);
});

/** All spans, once so many of that name have ended. */
async function readEnded(spans: Spans, name: string, times = 1): Promise<readonly Span[]> {
  await readNamed(spans, name, times);
  return spans.read();
}

async function readNamed(spans: Spans, name: string, times: number): Promise<readonly Span[]> {
  const find = () => spans.read().filter((span) => span.name === name);
  await waitUntil(() => find().length >= times);
  return find();
}
