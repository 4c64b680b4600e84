import { on, once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, createServer, type RequestListener } from "node:http";
import { connect, createServer as createSocketServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test, vi } from "vitest";
import { listenAt, type McpCarrier } from "../../src/compose/http-server.ts";
import { createSharedSessions } from "../../src/compose/shared-sessions.ts";
import { post } from "../support/mcp-post.ts";

/** Sessions that live in another process of the data folder. */

test("a call is handed on over a connection that ends with its answer", async () => {
  await using folder = await createFolder();
  const owner = folder.open();
  const closing: Promise<unknown>[] = [];
  owner.share({
    ...carrier,
    answer: ({ socket }, response) => {
      closing.push(once(socket, "close"));
      response.end("{}");
      return Promise.resolve();
    },
  });
  const way = folder.open().share({ ...carrier, answer: () => expect.unreachable() });
  await using front = await listen((request, response) => {
    void way.answer(request, response, expect.unreachable, undefined);
  });
  const headers = { "mcp-session-id": owner.createId() };
  for (const _ of [1, 2]) {
    const { status } = await post(front.url, { headers, body: "{}", agent: front.agent });
    expect(status).toBe(200);
  }
  expect(closing).toHaveLength(2);
  await Promise.all(closing);
});

test("one that is refused early leaves its connection to the next one", async () => {
  await using folder = await createFolder();
  const owner = folder.open();
  const left: Promise<unknown>[] = [];
  owner.share({
    ...carrier,
    answer: ({ socket }, response) => {
      // That the rest of a call does not come is an error of its socket.
      left.push(new Promise((resolve) => socket.once("close", resolve)));
      response.writeHead(401).end("refused");
      return Promise.resolve();
    },
  });
  const way = folder.open().share({ ...carrier, answer: () => expect.unreachable() });
  let connections = 0;
  await using front = await listen((request, response) => {
    void way.answer(request, response, expect.unreachable, undefined);
  });
  front.server.on("connection", () => (connections += 1));
  const socket = connect(Number(new URL(front.url).port), "127.0.0.1");
  const told = on(socket.setEncoding("utf8"), "data");
  for (const bytes of [900_000, 10, 3_000_000, 10]) {
    const head = `host: a\r\nmcp-session-id: ${owner.createId()}\r\ncontent-length: ${bytes}`;
    socket.write(`POST /mcp HTTP/1.1\r\n${head}\r\n\r\n${"x".repeat(bytes)}`);
    let answer = "";
    while (!answer.includes("refused")) answer += String((await told.next()).value);
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  }
  socket.destroy();
  await Promise.all(left);
  expect([left.length, connections]).toEqual([4, 1]);
});

test("who ends before it takes a call has not got it, and it is answered here", async () => {
  await using folder = await createFolder();
  const here: string[] = [];
  const way = folder.open().share({
    ...carrier,
    answer: async (request, response) => {
      here.push(await text(request));
      response.writeHead(404).end();
    },
  });
  await using front = await listen((request, response) => {
    void way.answer(request, response, expect.unreachable, undefined);
  });
  // One that is stopped breaks those off that wait at its socket, whatever they have sent so far.
  const owner = "0123456789abcdef";
  const got: string[] = [];
  const endings: ((socket: Socket) => void)[] = [
    (socket) => socket.destroy(),
    (socket) => socket.once("data", (bytes) => socket.destroy(void got.push(String(bytes)))),
    (socket) => {
      socket.write("HTTP/1.1 100 Continue\r\n\r\n");
      // Now it may have done something.
      socket.on("data", (bytes) => String(bytes).includes("call") && socket.destroy());
    },
  ];
  const ended = createSocketServer((socket) => {
    socket.on("error", () => undefined);
    endings.shift()?.(socket);
  });
  ended.listen(join(folder.data, `session-${owner}.sock`));
  await once(ended, "listening");
  const headers = { "mcp-session-id": `${owner}.00000000-0000-4000-8000-000000000000` };
  const ask = (body: string) => post(front.url, { headers, body, agent: front.agent });
  expect((await ask("call one")).status).toBe(404);
  expect((await ask("call two")).status).toBe(404);
  await expect(ask("call three")).rejects.toMatchObject({ code: "ECONNRESET" });
  expect(here).toEqual(["call one", "call two"]);
  expect(got.join("")).not.toContain("call");
  ended.close();
});

const carrier: McpCarrier = {
  fetch: () => Promise.resolve(new Response()),
  answer: () => expect.unreachable(),
};

/** A data folder, and processes that share its sessions. */
async function createFolder() {
  const data = await mkdtemp(join(tmpdir(), "waypost-sessions-"));
  const opened: ReturnType<typeof createSharedSessions>[] = [];
  return {
    data,
    open: () => {
      const one = createSharedSessions({ data, trustedProxies: undefined, report: vi.fn() });
      opened.push(one);
      return one;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(opened.map((one) => one.close(0)));
      await rm(data, { recursive: true });
    },
  };
}

async function listen(answer: RequestListener) {
  const front = createServer(answer);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    server: front,
    url: `http://127.0.0.1:${await listenAt(front, { host: "127.0.0.1", port: 0 })}/mcp`,
    agent,
    [Symbol.asyncDispose]: async () => {
      agent.destroy();
      await new Promise((resolve) => front.close(resolve));
    },
  };
}
