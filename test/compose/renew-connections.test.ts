import { Agent } from "node:http";
import { expect, test } from "vitest";
import { createHttpServer, listenAt, setRequestHandlers } from "../../src/compose/http-server.ts";
import { renewConnections } from "../../src/compose/renew-connections.ts";
import { post, withSession } from "../support/mcp-post.ts";
import { callOf, handshake } from "../support/mcp-raw.ts";
import { openWay } from "../support/mcp-way.ts";

/** Of several processes each ends the connections that have been kept for long. */

test("a session's calls at /mcp, answered in streams of events, end theirs as well", async () => {
  const { http } = openWay();
  const server = createHttpServer();
  renewConnections(server, () => 0);
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
    while (ends.length < 501) {
      const { headers } = await post(url, { ...withSession("one", id, callOf(1, "any")), agent });
      expect(headers["content-type"]).toBe("text/event-stream");
      ends.push(headers["connection"]);
    }
    // The last of the first one's, and the first of the second one's.
    expect([ends.indexOf("close"), ends[500], connections]).toEqual([499, "keep-alive", 2]);
  } finally {
    agent.destroy();
    server.close();
    server.closeAllConnections();
  }
});
