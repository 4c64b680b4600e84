import { Server } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { createSessions } from "../../../src/mcp/transport/sessions.ts";
import { connectV1, connectV2 } from "../../support/mcp-clients.ts";
import {
  openTestServer,
  modernCall,
  post,
  withSession,
  handshake,
} from "../../support/mcp-http.ts";

/** Tests HTTP sessions of the earlier protocol revisions: their limits, duration and owner. */

const minute_ms = 60_000;

describe("the sessions of a key", () => {
  test("are opened only by a handshake", async () => {
    const { sessions, send, servers } = openSessions();
    const { status } = await send(undefined, { jsonrpc: "2.0", id: 1, method: "tools/list" });
    expect([status, sessions.count()]).toEqual([400, 0]);
    // The rejected request must not leave a transport open.
    expect(servers.map(({ transport }) => transport)).toEqual([undefined]);
    const { id } = await send(undefined, handshake[0]);
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect((await send(id, listTools)).status).toBe(200);
    expect((await send("00000000-0000-4000-8000-000000000000", listTools)).status).toBe(404);
    expect(sessions.count()).toBe(1);
  });

  test("end after 30 minutes without a message", async () => {
    const { sessions, send, advance } = openSessions();
    const { id } = await send(undefined, handshake[0]);
    advance(29 * minute_ms);
    expect((await send(id, listTools)).status).toBe(200);
    advance(29 * minute_ms);
    expect((await send(id, listTools)).status).toBe(200);
    advance(31 * minute_ms);
    expect((await send(id, listTools)).status).toBe(404);
    expect(sessions.count()).toBe(0);
  });

  test("stay open for 30 minutes after the client stops listening", async () => {
    const { send, listen, advance } = openSessions();
    const { id = "" } = await send(undefined, handshake[0]);
    const stream = await listen(id);
    expect(stream.status).toBe(200);
    // A second stream is rejected and does not count as listening.
    expect((await listen(id)).status).toBe(409);
    advance(600 * minute_ms);
    expect((await send(id, listTools)).status).toBe(200);
    await stream.body?.cancel();
    advance(29 * minute_ms);
    expect((await send(id, listTools)).status).toBe(200);
    advance(31 * minute_ms);
    expect((await send(id, listTools)).status).toBe(404);
  });

  test("are not replaced by a new session while they are in use", async () => {
    const { sessions, send, listen, fill, advance } = openSessions();
    const [listening = "", used = ""] = await fill("full");
    await listen(listening);
    const count = sessions.count();
    advance(4 * minute_ms);
    await send(used, listTools);
    const refused = await send(undefined, handshake[0]);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "30"]);
    const { jsonrpc, id, error } = JSON.parse(refused.text);
    expect([jsonrpc, id, error.code]).toEqual(["2.0", "handshake", -32001]);
    const data = { code: "overloaded", effect: "none", retry: "later", retry_after_s: 30 };
    expect(error.data).toEqual(data);
    expect(error.message).toMatch(/DELETE with their Mcp-Session-Id.*2026-07-28.*try again/);
    // The rejected request must not have opened a session.
    expect([refused.id, sessions.count()]).toEqual([undefined, count]);
    for (const id of [listening, used]) expect((await send(id, listTools)).status).toBe(200);
  });

  test("can be replaced by a new session after five minutes without use", async () => {
    const { sessions, send, listen, fill, advance } = openSessions();
    const ids = await fill("full");
    const [listening = "", silent = "", used = ""] = ids;
    await listen(listening);
    advance(6 * minute_ms);
    await send(used, listTools);
    expect((await send(undefined, handshake[0])).status).toBe(200);
    expect(sessions.count()).toBeLessThan(ids.length);
    const statuses = [listening, silent, used].map(
      async (id) => (await send(id, listTools)).status,
    );
    expect(await Promise.all(statuses)).toEqual([200, 404, 200]);
  });

  test("are never replaced by a session of another key", async () => {
    const { sessions, send, fill, advance } = openSessions();
    const [theirs = ""] = await fill("one", 1);
    advance(6 * minute_ms);
    const ids = await fill("greedy");
    expect((await send(undefined, handshake[0], "POST", "greedy")).status).toBe(503);
    expect((await send(theirs, listTools)).status).toBe(200);
    expect((await send(undefined, handshake[0], "POST", "another")).status).toBe(200);
    expect(sessions.count()).toBe(ids.length + 2);
    // A thousand users of one gateway share a key.
    expect(ids.length).toBeGreaterThanOrEqual(1000);
  });

  test("end when the client sends DELETE or the server stops", async () => {
    const { sessions, send, listen } = openSessions();
    const { id = "" } = await send(undefined, handshake[0]);
    const stream = await listen(id);
    expect((await send(id, undefined, "DELETE")).status).toBe(200);
    expect([await stream.text(), sessions.count()]).toEqual(["", 0]);
    expect((await send(id, listTools)).status).toBe(404);
    const other = await send(undefined, handshake[0]);
    const open = await listen(other.id ?? "");
    await sessions.close();
    expect([await open.text(), sessions.count()]).toEqual(["", 0]);
  });
});

describe("the built command", () => {
  test("returns 404 for another key's session", async () => {
    await using testServer = await openTestServer();
    const { mcp } = testServer.serving.places;
    const [one, other] = [await testServer.addTenant(), await testServer.addTenant()];
    const opened = await post(mcp, withSession(one.key, undefined, handshake[0]));
    const id = String(opened.headers["mcp-session-id"]);
    for (const [key, status] of [
      [one.key, 200],
      [other.key, 404],
      [one.key, 200],
    ] as const) {
      expect((await post(mcp, withSession(key, id, listTools))).status).toBe(status);
    }
    for (const method of ["GET", "DELETE"]) {
      const { headers } = withSession(other.key, id);
      expect((await post(mcp, { method, headers })).status).toBe(404);
    }
    const ended = { ...withSession(one.key, id), method: "DELETE" };
    expect((await post(mcp, ended)).status).toBe(200);
    expect((await post(mcp, withSession(one.key, id, listTools))).status).toBe(404);
  });

  test("returns the right links to 20 clients that use the same request IDs", async () => {
    await using testServer = await openTestServer();
    const { mcp: url } = testServer.serving.places;
    const tenants = await Promise.all(Array.from({ length: 20 }, () => testServer.addTenant()));
    const names = tenants.map(({ subdomain }) => `of-${subdomain}-only`);
    await Promise.all(
      tenants.map(async ({ key }, index) => {
        await post(url, modernCall(key, 1, "create_link", { path: "mine", name: names[index] }));
      }),
    );
    await Promise.all(
      tenants.map(async ({ key: token }, index) => {
        const connect = index % 2 === 0 ? connectV1 : connectV2;
        await using client = await connect({ transport: "http", url, token });
        const own = names[index] ?? "";
        const others = names.filter((name) => name !== own);
        const asked = [1, 2, 3, 4, 5].flatMap((id) => [
          client.callTool("get_link", { id: "mine" }).then(({ text }) => text),
          post(url, modernCall(token, id, "list_links")).then(({ text }) => text),
        ]);
        for (const text of await Promise.all(asked)) {
          expect(text).toContain(own);
          expect(others.filter((name) => text.includes(name))).toEqual([]);
        }
      }),
    );
  });
});

const listTools = { jsonrpc: "2.0", id: 2, method: "tools/list" };

function createServer(): Server {
  const capabilities = { tools: { listChanged: true } };
  const server = new Server({ name: "test", version: "1" }, { capabilities });
  server.setRequestHandler("tools/list", () => ({ tools: [] }));
  return server;
}

function openSessions() {
  let now = 0;
  const servers: Server[] = [];
  const openServer = () => {
    const server = createServer();
    servers.push(server);
    return { server, fast: { admit: () => {}, find: () => undefined } };
  };
  const sessions = createSessions({ monotonic: () => now });

  async function ask(id: string | undefined, body: unknown, method: string, key_print = "one") {
    const headers = {
      "content-type": "application/json",
      accept: method === "GET" ? "text/event-stream" : "application/json, text/event-stream",
      ...(id !== undefined && { "mcp-session-id": id }),
    };
    const request = new Request("http://localhost/mcp", { method, headers });
    return sessions.fetch({ owner: { key_print, openServer }, request, body });
  }

  async function send(id: string | undefined, body: unknown, method = "POST", key_print = "one") {
    const { status, headers, text } = await ask(id, body, method, key_print).then(readWhole);
    return { status, headers, text, id: headers.get("mcp-session-id") ?? undefined };
  }

  async function fill(key: string, most = Infinity) {
    const ids: string[] = [];
    const keys = key === "full" ? ["one", "another", "a third"] : [key];
    for (const each of keys) {
      while (ids.length < most) {
        const { id } = await send(undefined, handshake[0], "POST", each);
        if (id === undefined) break;
        ids.push(id);
      }
    }
    return ids;
  }

  return {
    sessions,
    servers,
    advance: (milliseconds: number) => {
      now += milliseconds;
    },
    listen: (id: string) => ask(id, undefined, "GET"),
    send,
    fill,
  };
}

async function readWhole(response: Response) {
  return { status: response.status, headers: response.headers, text: await response.text() };
}
