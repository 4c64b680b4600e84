import { describe, expect, test } from "vitest";
import {
  openTestServer,
  type TestServer,
  type Tenant,
  post,
  withSession,
  type HttpPost,
  callOf,
  handshake,
} from "../../../support/mcp-http.ts";
import { openForAll } from "../../../support/open-for.ts";

/** The fast path of later calls gives the same answers as the SDK, but as JSON. */

let testServer: TestServer;
openForAll(openTestServer, (opened) => (testServer = opened));

type Call = { readonly headers: Readonly<Record<string, string>>; readonly body: string };
type CallFactory = (id: number, name: string, args?: object) => Call;
type SessionOpener = (tenant: Tenant) => Promise<CallFactory>;

const open: SessionOpener = async ({ key }) => {
  const { mcp } = testServer.serving.places;
  const opened = await post(mcp, withSession(key, undefined, handshake[0]));
  const session = String(opened.headers["mcp-session-id"]);
  await post(mcp, withSession(key, session, handshake[1]));
  return (id, name, args) => withSession(key, session, callOf(id, name, args));
};

type CallChange = (call: Call) => HttpPost;

const setHeaders = (more: Record<string, string | string[]>): CallChange => {
  return (call) => ({ ...call, headers: { ...call.headers, ...more } });
};
const leaveOut = (left: string) => (record: object) => {
  return Object.fromEntries(Object.entries(record).filter(([name]) => name !== left));
};
const dropHeader = (dropped: string): CallChange => {
  return ({ headers, body }) => ({ body, headers: leaveOut(dropped)(headers) });
};
const cut = (text: string) => [text.slice(0, 40), text.slice(40, 50), text.slice(50)];
const alterBody = (alter: (body: string) => string): CallChange => {
  return (call) => ({ ...call, body: alter(call.body) });
};
const alterMessage = (alter: (message: Record<string, unknown>) => unknown): CallChange => {
  return alterBody((body) => JSON.stringify(alter(JSON.parse(body))));
};
const alterParams = (alter: (params: Record<string, unknown>) => unknown): CallChange => {
  return alterMessage((message) => ({ ...message, params: alter(Object(message["params"])) }));
};
const alterMeta = (more: object): CallChange => {
  return alterParams((params) => ({
    ...params,
    ["_meta"]: { ...Object(params["_meta"]), ...more },
  }));
};
const giveArguments = (given: object) => alterParams((params) => ({ ...params, arguments: given }));
const envelope = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "other", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
const unknownSession = "00000000-0000-4000-8000-000000000000";

const usualCalls: readonly (readonly [what: string, name: string, args: object])[] = [
  ["a call to list_links", "list_links", {}],
  ["a call for an unknown link", "get_link", { id: "nothing" }],
  ["a call with an unknown argument", "list_links", { colour: "red" }],
  ["a call to an unknown tool", "list_linke", {}],
  ["a call to delete_link", "delete_link", { id: "nothing" }],
  ["a call to a tool with a view", "preview_template", {}],
];

const unusualRequests: readonly (readonly [what: string, alter: CallChange])[] = [
  ["a forbidden Host", setHeaders({ host: "evil.example" })],
  ["another allowed Host", setHeaders({ host: "localhost" })],
  ["a foreign Origin", setHeaders({ origin: "http://evil.example" })],
  ["an allowed Origin", setHeaders({ origin: "http://localhost:3000" })],
  ["no token", dropHeader("authorization")],
  ["an unknown token", setHeaders({ authorization: "Bearer x" })],
  ["no content type", dropHeader("content-type")],
  [
    "a content type with a charset",
    setHeaders({ "content-type": "application/json; charset=utf-8" }),
  ],
  ["no Accept header", dropHeader("accept")],
  ["two Accept headers", setHeaders({ accept: ["application/json", "text/event-stream"] })],
  ["an unknown revision", setHeaders({ "mcp-protocol-version": "1999-01-01" })],
  ["the revision 2026-07-28", setHeaders({ "mcp-protocol-version": "2026-07-28" })],
  ["no revision", dropHeader("mcp-protocol-version")],
  ["a different method in its header", setHeaders({ "mcp-method": "tools/list" })],
  ["a different tool in its header", setHeaders({ "mcp-name": "get_link" })],
  ["an unknown session", setHeaders({ "mcp-session-id": unknownSession })],
  ["no session", dropHeader("mcp-session-id")],
  ["an additional header", setHeaders({ "x-request-id": "7" })],
  ["the HTTP method PUT", (call) => ({ ...call, method: "PUT" })],
  ["invalid JSON", alterBody((body) => body.slice(1))],
  ["a body that is too long", alterBody((body) => body + " ".repeat(4 * 1024 * 1024))],
  ["a body in parts", (call) => ({ ...call, body: cut(call.body) })],
  ["a batch of one", alterBody((body) => `[${body}]`)],
  ["a notification", alterMessage(leaveOut("id"))],
  [
    "a response instead of a request",
    alterBody(() => JSON.stringify({ jsonrpc: "2.0", id: 7, result: {} })),
  ],
  ["the JSON-RPC version 1.0", alterMessage((message) => ({ ...message, jsonrpc: "1.0" }))],
  ["a fractional ID", alterMessage((message) => ({ ...message, id: 7.5 }))],
  ["an additional member", alterMessage((message) => ({ ...message, also: 1 }))],
  ["the method tools/list", alterMessage((message) => ({ ...message, method: "tools/list" }))],
  ["no params", alterMessage(leaveOut("params"))],
  ["arguments in a list", giveArguments([])],
  ["an argument named __proto__", giveArguments({ ["__proto__"]: { limit: 1 } })],
  ["no arguments", alterParams(leaveOut("arguments"))],
  ["no name", alterParams(leaveOut("name"))],
  ["an additional parameter", alterParams((params) => ({ ...params, also: 1 }))],
  [
    "input responses that were not requested",
    alterParams((params) => ({ ...params, inputResponses: {} })),
  ],
  ["text instead of _meta", alterParams((params) => ({ ...params, ["_meta"]: "x" }))],
  ["an object as the progress token", alterMeta({ progressToken: {} })],
  ["an invalid task", alterMeta({ "io.modelcontextprotocol/related-task": 5 })],
  ["a progress token", alterMeta({ progressToken: "p" })],
  ["the envelope of a different client", alterMeta(envelope)],
  [
    "an unknown revision in _meta",
    alterMeta({ "io.modelcontextprotocol/protocolVersion": "2027-01-01" }),
  ],
  ["a client without a name", alterMeta({ "io.modelcontextprotocol/clientInfo": {} })],
];

describe.concurrent("an HTTP session of an earlier revision", () => {
  test.each(usualCalls)(
    "%s gets the same response from the SDK and on the fast path",
    async (_what, name, args) => {
      await compare((ask) => ask(7, name, args));
    },
  );

  test.each(unusualRequests)(
    "a request with %s gets the same response from the SDK and on the fast path",
    async (_what, alter) => {
      await compare((ask) => alter(ask(7, "list_links")));
    },
  );

  test("a call on the fast path is rejected after its key is revoked", async () => {
    const tenant = await testServer.addTenant();
    const ask = await open(tenant);
    for (const id of [1, 2]) expect((await send(ask(id, "list_links"))).status).toBe(200);
    await tenant.revoke();
    expect((await send(ask(3, "list_links"))).status).toBe(401);
  });
});

test("a call on the fast path returns 404 after its session ends", async () => {
  const tenant = await testServer.addTenant();
  const ask = await open(tenant);
  for (const id of [1, 2]) expect((await send(ask(id, "list_links"))).status).toBe(200);
  const { headers } = ask(3, "list_links");
  expect((await send({ method: "DELETE", headers })).status).toBe(200);
  const { status, text } = await send(ask(3, "list_links"));
  expect([status, text]).toEqual([404, expect.stringContaining("Session not found")]);
});

test("on the fast path, a call with another key's session ID returns 404", async () => {
  const [one, other] = [await testServer.addTenant(), await testServer.addTenant()];
  const ask = await open(one);
  for (const id of [1, 2]) await send(ask(id, "list_links"));
  const stolen = setHeaders({ authorization: `Bearer ${other.key}` })(ask(3, "list_links"));
  expect((await send(stolen)).status).toBe(404);
});

/** Sends the same request as one key's first call and as a similar key's later call. */
async function compare(write: (ask: CallFactory) => HttpPost): Promise<void> {
  const first = await testServer.addTenant();
  const answeredFirst = await send(write(await open(first)));
  const later = await testServer.addTenant();
  const ask = await open(later);
  for (const id of [1, 2]) expect((await send(ask(id, "list_links"))).status).toBe(200);
  expect(clean(await send(write(ask)), later)).toEqual(clean(answeredFirst, first));
  expect((await send(ask(8, "list_links"))).status).toBe(200);
}

type PostResult = Awaited<ReturnType<typeof post>>;

function send(given: HttpPost): Promise<PostResult> {
  return post(testServer.serving.places.mcp, given);
}

/** Removes the parts of an answer that differ between keys, requests and formats. */
function clean({ status, headers, text }: PostResult, { subdomain }: Tenant) {
  const { date: _, "content-length": __, "transfer-encoding": ___, ...own } = headers;
  const { "mcp-session-id": session, "x-request-id": id, ...common } = own;
  const { "content-type": type, "x-accel-buffering": ____, ...rest } = common;
  const isCall = status === 200 && /"result":|"error":/.test(text);
  const body = text.replaceAll(subdomain, "tenant").replaceAll(/preview\/[\w-]+/g, "preview");
  return {
    status,
    headers: isCall ? rest : common,
    type: isCall ? undefined : type,
    hasSession: session !== undefined,
    hasId: id !== undefined,
    body: body.replace(/^event: message\ndata: (.*)\n\n$/, "$1"),
  };
}
