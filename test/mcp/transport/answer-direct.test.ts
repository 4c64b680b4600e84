import { once } from "node:events";
import { createServer, request as sendRequest } from "node:http";
import type { Result } from "@modelcontextprotocol/server";
import { afterEach, describe, expect, test } from "vitest";
import { listenAt } from "../../../src/compose/http-server.ts";
import { trackDirect, type DirectWay, type Turn } from "../../../src/mcp/transport/direct-calls.ts";
import { createDirectHttp } from "../../../src/mcp/transport/direct-http.ts";
import { trackInFlight } from "../../../src/mcp/transport/in-flight.ts";
import type { KeyConnections } from "../../../src/mcp/transport/key-connections.ts";
import { noPlace } from "../../../src/mcp/transport/line.ts";
import { trackOpenIds } from "../../../src/mcp/transport/open-ids.ts";
import { writeHeaders } from "../../../src/mcp/transport/plain-post.ts";
import { modernCall, post, withSession, type Posting } from "../../support/mcp-post.ts";
import { callOf } from "../../support/mcp-raw.ts";
import { waitUntil } from "../../support/wait-until.ts";

/** How calls are answered that go past the SDK; a test says when and with what. */

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

const session = "a-session";
const calls = {
  "2025-06-18": withSession("key", session, callOf(1, "a")),
  "2026-07-28": modernCall("key", 1, "a"),
};

type Settle = { answer: (result: Result | "cancelled") => void; fail: (error: Error) => void };

function createCall() {
  let settle: Settle | undefined;
  const result = new Promise<Result | "cancelled">((resolve, reject) => {
    settle = { answer: resolve, fail: reject };
  });
  return { settle, result, leave: () => settle?.answer("cancelled") };
}

/** Nobody waits for it. */
function createTurn(): Turn {
  return { enter: () => noPlace, wait: () => Promise.resolve(noPlace) };
}

/** Whatever comes with the headers of these calls is let through, unless it is named otherwise. */
async function openWay() {
  let settle: Settle | undefined;
  let alarm: { ms: number; ring: () => void } | undefined;
  const used = { begun: 0, ended: 0 };
  const reported: unknown[] = [];
  const known = new Set<string>();
  const begin = () => {
    const call = createCall();
    settle = call.settle;
    return call;
  };
  const find = (message: unknown) => {
    const { params = {} } = message as { readonly params?: { readonly name?: string } };
    if (params.name !== "a") return undefined;
    return { id: 1, name: "a", isFollowed: false, begin };
  };
  const tracked = trackDirect({ knows: (headers) => known.has(headers), find });
  const use = { begin: () => (used.begun += 1), end: () => (used.ended += 1) };
  const ids = trackOpenIds();
  const openFor = (session: string | undefined): DirectWay => {
    return { session, calls: tracked, ids, use };
  };
  const running = trackInFlight<object>();
  const connected = {
    calls: running,
    sessions: { findDirect: (id: string) => (id === session ? openFor(id) : undefined) },
    direct: openFor(undefined),
    // Nothing else of a key's connections is looked at.
  } as unknown as KeyConnections;
  const direct = createDirectHttp({
    find: () => Promise.resolve(connected),
    begin: ({ calls }) => {
      const exchange = {};
      calls.begin(exchange);
      return { turn: createTurn(), end: () => calls.end(exchange) };
    },
    setAlarm: (ms, ring) => {
      alarm = { ms, ring };
      return () => (alarm = undefined);
    },
    report: (error) => `reference-${reported.push(error)}`,
  });
  const server = createServer((incoming, response) => {
    void direct.answer(incoming, response).then(async (isAnswered) => {
      if (isAnswered) return;
      const taken = await direct.take(incoming);
      const again = direct.take(incoming) === undefined;
      response.end(JSON.stringify({ passedOn: taken ?? "unread", again }));
    });
  });
  const port = await listenAt(server, { host: "127.0.0.1", port: 0 });
  ends.push(() => {
    server.close();
    server.closeAllConnections();
  });
  for (const { headers } of Object.values(calls)) {
    const given: Readonly<Record<string, string | undefined>> = headers;
    known.add(writeHeaders((name) => (name === "host" ? `127.0.0.1:${port}` : given[name])));
  }
  return {
    ask: (given: Posting) => post(`http://127.0.0.1:${port}/mcp`, given),
    url: `http://127.0.0.1:${port}/mcp`,
    begun: async () => {
      await waitUntil(() => settle !== undefined);
      if (settle === undefined) throw new Error("it has not begun");
      return settle;
    },
    readAlarm: () => alarm,
    server,
    running,
    tracked,
    used,
    reported,
  };
}

describe.each(Object.entries(calls))("in %s", (era, call) => {
  test("a call is answered, and is over then", async () => {
    const { ask, begun, readAlarm, running, used } = await openWay();
    const asked = ask(call);
    (await begun()).answer({ content: [] });
    const { status, text } = await asked;
    expect([status, text]).toEqual([200, expect.stringContaining('{"result":{"content":[]}')]);
    expect([running.count(), used, readAlarm()]).toEqual([0, { begun: 1, ended: 1 }, undefined]);
  });

  test("a call ends its connection where the server means that to end", async () => {
    const { ask, begun, server } = await openWay();
    server.prependListener("request", (_, response) => (response.shouldKeepAlive = false));
    const asked = ask(call);
    (await begun()).answer({ content: [] });
    expect((await asked).headers["connection"]).toBe("close");
  });

  test("what is none of these calls is passed on with what was read", async () => {
    const { ask, running } = await openWay();
    const other = { ...call, body: JSON.stringify(callOf(1, "b")) };
    const { text } = await ask(other);
    const message = { body: callOf(1, "b"), bytes: other.body.length };
    expect(JSON.parse(text)).toEqual({ passedOn: message, again: true });
    expect(running.count()).toBe(0);
  });

  test("of what comes with other headers nothing is read", async () => {
    const { ask } = await openWay();
    const { text } = await ask({ ...call, headers: { ...call.headers, accept: "text/html" } });
    expect(JSON.parse(text)).toEqual({ passedOn: "unread", again: true });
  });

  test("a call that fails is passed on", async () => {
    const { ask, begun, used } = await openWay();
    const asked = ask(call);
    (await begun()).fail(new Error("no"));
    expect(JSON.parse((await asked).text)).toMatchObject({ again: true });
    expect(used).toEqual({ begun: 1, ended: 1 });
  });

  test("a call whose client leaves ends", async () => {
    const { url, begun, running } = await openWay();
    const sent = sendRequest(url, { method: "POST", headers: call.headers }).end(call.body);
    sent.on("error", () => undefined);
    await begun();
    sent.destroy();
    await waitUntil(() => running.count() === 0);
    expect(running.count()).toBe(0);
  });

  test("a call ends with the session or the server", async () => {
    const { ask, begun, tracked } = await openWay();
    const asked = ask(call);
    await begun();
    tracked.cancelAll();
    const { status, text } = await asked;
    expect([status, text]).toEqual([era === "2026-07-28" ? 499 : 200, ""]);
  });
});

test("a session's call that takes long is begun to be answered, and shows it lives", async () => {
  const { url, begun, readAlarm } = await openWay();
  const { headers, body } = calls["2025-06-18"];
  const sent = sendRequest(url, { method: "POST", headers }).end(body);
  const answered = once(sent, "response");
  const { answer } = await begun();
  readAlarm()?.ring();
  const [response] = await answered;
  expect(response.headers["content-type"]).toBe("text/event-stream");
  expect(readAlarm()?.ms).toBe(15_000);
  readAlarm()?.ring();
  answer({ content: [] });
  let text = "";
  for await (const chunk of response) text += chunk;
  const event = 'event: message\ndata: {"result":{"content":[]},"jsonrpc":"2.0","id":1}\n\n';
  expect(text).toBe(`: keepalive\n\n${event}`);
  expect(readAlarm()).toBeUndefined();
});

test("a session's call that fails once it is begun to be answered is told so", async () => {
  const { ask, begun, readAlarm, reported } = await openWay();
  const asked = ask(calls["2025-06-18"]);
  const { fail } = await begun();
  readAlarm()?.ring();
  fail(new Error("no"));
  const { text } = await asked;
  expect(text).toMatch(/^event: message\ndata: \{"jsonrpc":"2.0","id":1,"error":\{"code":-32603,/);
  expect(text).toContain("reference-1");
  expect(reported).toEqual([new Error("no")]);
});
