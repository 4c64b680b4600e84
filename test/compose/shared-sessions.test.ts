import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, createServer } from "node:http";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { listenAt, type McpCarrier } from "../../src/compose/http-server.ts";
import { createSharedSessions } from "../../src/compose/shared-sessions.ts";
import { post } from "../support/mcp-post.ts";

/** Sessions that live in another process of the data folder. */

test("a call is handed on over a connection that ends with its answer", async () => {
  const data = await mkdtemp(join(tmpdir(), "waypost-sessions-"));
  const open = () => createSharedSessions({ data, trustedProxies: undefined, report: vi.fn() });
  const [owner, other] = [open(), open()];
  const sockets: Socket[] = [];
  const said: unknown[] = [];
  const carrier: McpCarrier = {
    fetch: () => Promise.resolve(new Response()),
    answer: ({ socket, headers }, response) => {
      sockets.push(socket);
      said.push(headers["connection"]);
      response.end("{}");
      return Promise.resolve();
    },
  };
  owner.share(carrier);
  const way = other.share({ ...carrier, answer: () => expect.unreachable() });
  const front = createServer((request, response) => {
    void way.answer(request, response, expect.unreachable, undefined);
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    const url = `http://127.0.0.1:${await listenAt(front, { host: "127.0.0.1", port: 0 })}/mcp`;
    const headers = { "mcp-session-id": owner.createId() };
    for (const _ of [1, 2]) {
      const { status } = await post(url, { headers, body: "{}", agent });
      expect(status).toBe(200);
    }
    await Promise.all(sockets.map((socket) => socket.closed || once(socket, "close")));
    expect(said).toEqual(["close", "close"]);
  } finally {
    agent.destroy();
    front.close();
    await Promise.all([owner.close(0), other.close(0)]);
    await rm(data, { recursive: true });
  }
});
