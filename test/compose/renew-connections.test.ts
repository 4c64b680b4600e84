import { Agent } from "node:http";
import { expect, test } from "vitest";
import { createHttpServer, listenAt, setRequestHandlers } from "../../src/compose/http-server.ts";
import { renewConnections } from "../../src/compose/renew-connections.ts";
import { post, withSession } from "../support/mcp-post.ts";
import { callOf, handshake } from "../support/mcp-raw.ts";
import { openWay } from "../support/mcp-way.ts";

/** Of several processes each ends the connections that have been kept for long. */

test("a session's connections end after one to 1,000 calls each, by chance", async () => {
  const { http } = openWay();
  const server = createHttpServer();
  const chances = [0, 0.009];
  renewConnections(server, () => chances.shift() ?? 0.999);
  setRequestHandlers(server, {
    api: undefined,
    mcp: http,
    pages: {},
    links: undefined,
    hostnames: ["127.0.0.1"],
    readUnready: () => Promise.resolve(undefined),
    trustedProxies: undefined,
  });
  let connections = 0;
  server.on("connection", () => (connections += 1));
  const port = await listenAt(server, { host: "127.0.0.1", port: 0 });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    const url = `http://127.0.0.1:${port}/mcp`;
    const opened = await post(url, { ...withSession("one", undefined, handshake[0]), agent });
    const id = String(opened.headers["mcp-session-id"]);
    const ends: unknown[] = [opened.headers["connection"]];
    while (ends.length < 100) {
      const { headers } = await post(url, { ...withSession("one", id, callOf(1, "any")), agent });
      expect(headers["content-type"]).toBe("text/event-stream");
      ends.push(headers["connection"]);
    }
    // The first one's only answer, and the last of the second one's ten.
    const closed = ends.flatMap((said, turn) => (said === "close" ? [turn] : []));
    expect([closed, connections]).toEqual([[0, 10], 3]);
  } finally {
    agent.destroy();
    server.close();
    server.closeAllConnections();
  }
});

test("none ends while a long message may be on its way, but at the next request", async () => {
  const server = createHttpServer();
  renewConnections(server, () => 0);
  server.answer = (_request, response) => response.writeHead(401).end();
  const port = await listenAt(server, { host: "127.0.0.1", port: 0 });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const url = `http://127.0.0.1:${port}/api/v1/links`;
  const ends: unknown[] = [];
  for (const body of ["long".repeat(20_000), ["in", "pieces"], "short", ""]) {
    ends.push((await post(url, { body, agent })).headers["connection"]);
  }
  expect(ends).toEqual(["keep-alive", "keep-alive", "close", "close"]);
  agent.destroy();
  server.close();
});
