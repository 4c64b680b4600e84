import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { closeHttpServer, createHttpServer, listenAt } from "../../../src/app/http/http-server.ts";
import { mostHeld, mostUnanswered } from "../../../src/network/limit-unanswered.ts";
import { answerOverHttp } from "../../../src/service/http.ts";
import { serveApi, createWorld } from "../../support/world.ts";
import { createGate } from "../../support/clock.ts";

/** Clients that send requests before they have the responses to earlier ones. */

/** Node parses all requests that one read returns. */
const chunk_bytes = 64 * 1024;
const short = "GET /x1 HTTP/1.1\r\nhost: a\r\n\r\n";

test("the server stops reading from a client while 100 of its requests are waiting", async () => {
  await using world = await createWorld();
  const { write } = world.store;
  const written = createGate();
  const held: typeof write = async (work, options) => {
    await written.opened;
    return write(work, options);
  };
  Object.assign(world.store, { write: held });
  let asked = 0;
  const { server, port, close } = await serveApi(
    answerOverHttp((message) => {
      asked += 1;
      return world.answer(message);
    }, world.clock),
  );
  const accepted = once(server, "connection");
  const client = connect(port, "127.0.0.1");
  const count = 1000;
  const answers = readAnswers(client, count);
  client.write(writeLink(world.key).repeat(count));
  const [socket] = await accepted;
  await settle(socket);
  expect(asked).toBe(mostUnanswered);
  expect(socket.bytesRead).toBeLessThanOrEqual(4 * chunk_bytes);
  written.open();
  expect(await answers).toBe(count);
  client.destroy();
  await close();
});

test("the server stops reading from a client that does not read its responses", async () => {
  const { server, port } = await listen();
  const unanswered = new Set<ServerResponse>();
  let mostAtOnce = 0;
  server.answer = (_request, response) => {
    unanswered.add(response.once("finish", () => unanswered.delete(response)));
    mostAtOnce = Math.max(mostAtOnce, unanswered.size);
    response.writeHead(404).end(Buffer.alloc(chunk_bytes));
  };
  const { socket } = await send(server, port, short.repeat(100_000));
  await settle(socket);
  expect(mostAtOnce).toBeLessThanOrEqual(mostUnanswered);
  expect(socket.bytesRead).toBeLessThanOrEqual(4 * chunk_bytes);
});

test("a client that sends 3 MB of requests at once does not block the event loop", async () => {
  const { server, port } = await listen();
  let [begun, begunInTurn, mostInTurn, isOpen] = [0, 0, 0, true];
  server.answer = (_request, response) => {
    begun += 1;
    begunInTurn += 1;
    mostInTurn = Math.max(mostInTurn, begunInTurn);
    response.writeHead(404).end("Not found");
  };
  const turning = (async () => {
    for (; isOpen; await setImmediate()) begunInTurn = 0;
  })();
  const { client, socket } = await send(server, port, short.repeat(100_000));
  await settle(socket);
  const begunBefore = begun;
  const closed = new Promise((resolve) => socket.once("close", resolve));
  client.resetAndDestroy();
  await closed;
  await takeTurns(10);
  isOpen = false;
  await turning;
  expect(begun - begunBefore).toBeLessThanOrEqual(mostUnanswered);
  // Some requests were held, and some were read in the same turn.
  expect(mostInTurn).toBeLessThanOrEqual(2 * mostUnanswered);
  await closeHttpServer(server);
});

test("requests that were read but not started are dropped if their connection closes", async () => {
  const { server, port } = await listen();
  const waiting: ServerResponse[] = [];
  server.answer = (_request, response) => void waiting.push(response);
  const { client, socket } = await send(server, port, short.repeat(2000));
  await settle(socket);
  expect(waiting).toHaveLength(mostUnanswered);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  client.resetAndDestroy();
  for (const response of waiting.splice(0)) response.end();
  await closed;
  await takeTurns(10);
  expect(waiting).toEqual([]);
});

test("a connection is closed if the server would have over 20,000 waiting requests", async () => {
  const { server, port } = await listen();
  server.answer = () => undefined;
  const held = 1500;
  const open = Math.ceil(mostHeld / held);
  const sockets: Socket[] = [];
  for (let at = 0; at < open + 5; at += 1) {
    const { socket } = await send(server, port, short.repeat(mostUnanswered + held));
    sockets.push(socket);
    await settle(socket);
  }
  const isOpen = sockets.map(({ destroyed }) => !destroyed);
  expect(isOpen.filter(Boolean)).toHaveLength(Math.floor(mostHeld / held));
  // A closed connection frees its share of the limit.
  const closed = once(sockets[0] ?? server, "close");
  sockets[0]?.destroy();
  await closed;
  const { socket } = await send(server, port, short.repeat(mostUnanswered + held));
  await settle(socket);
  expect(socket.destroyed).toBe(false);
});

test("every pipelined request gets a response, at most 200 per event-loop tick", async () => {
  const { server, port } = await listen();
  let [inTurn, mostInTurn, open] = [0, 0, true];
  server.answer = ({ url }, response) => {
    inTurn += 1;
    mostInTurn = Math.max(mostInTurn, inTurn);
    response.end(url);
  };
  const count = 3000;
  const text = Array.from({ length: count }, (_, at) => short.replace("x1", `-${at}-`)).join("");
  const turning = (async () => {
    for (; open; await setImmediate()) inTurn = 0;
  })();
  const client = connect(port, "127.0.0.1");
  onTestFinished(() => void client.destroy());
  client.write(text);
  let answered = "";
  client.setEncoding("utf8").on("data", (part: string) => (answered += part));
  while (!answered.includes(`/-${count - 1}-`)) await once(client, "data");
  open = false;
  await turning;
  const paths = [...answered.matchAll(/\/-(\d+)-/g)].map(([, at]) => Number(at));
  expect(paths).toEqual(Array.from({ length: count }, (_, at) => at));
  expect(mostInTurn).toBeLessThanOrEqual(2 * mostUnanswered);
});

async function listen() {
  const server = createHttpServer();
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { server, port: await listenAt(server, { host: "127.0.0.1", port: 0 }) };
}

async function send(server: ReturnType<typeof createHttpServer>, port: number, text: string) {
  const accepted = once(server, "connection");
  const client = connect(port, "127.0.0.1").pause();
  // The reset of the connection also ends the unfinished sending.
  client.on("error", () => undefined).write(text);
  onTestFinished(() => void client.destroy());
  const [socket] = await accepted;
  return { client, socket };
}

/** Resolves once the server has read nothing for many turns of the event loop. */
async function settle(socket: Socket): Promise<void> {
  for (let seen = -1; seen !== socket.bytesRead; await takeTurns(200)) seen = socket.bytesRead;
}

async function takeTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await setImmediate();
}

/** Padded, so that thousands of requests are more than one read returns. */
function writeLink(key: string): string {
  const head = [
    "POST /api/v1/links HTTP/1.1",
    "host: 127.0.0.1",
    `authorization: Token ${key}`,
    "content-type: application/json",
    `x-padding: ${"-".repeat(1000)}`,
    "content-length: 2",
  ];
  return `${head.join("\r\n")}\r\n\r\n{}`;
}

async function readAnswers(socket: Socket, wanted: number): Promise<number> {
  let count = 0;
  socket.setEncoding("latin1");
  for await (const part of socket.iterator({ destroyOnReturn: false })) {
    count += String(part).split("HTTP/1.1 ").length - 1;
    if (count >= wanted) break;
  }
  return count;
}
