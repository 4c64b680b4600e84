import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import {
  closeHttpServer,
  createHttpServer,
  listenAt,
  type HttpServer,
} from "../../src/compose/http-server.ts";
import { renewConnections } from "../../src/compose/renew-connections.ts";
import { carryOverHttp } from "../../src/service/http-carrier.ts";
import { serveApi } from "../support/api-server.ts";
import { createGate } from "../support/gate.ts";
import { createWorld, type World } from "../support/world.ts";

/** Of requests that were sent before the answers to others, what is not answered is not done. */

test("behind the last answer of a connection nothing is carried out", async () => {
  await using world = await createWorld();
  const { server, port, close } = await serveApi(carryOverHttp(world.answer));
  renewConnections(server, () => 0.0025);
  const answers = await send(port, writeAll(world, 8));
  expect(answers).toEqual(["201", "201", "201 close"]);
  expect(await listPaths(world)).toEqual(["link-0", "link-1", "link-2"]);
  await close();
});

test("nor is it where its client has gone before its turn", async () => {
  const { server, port } = await listen();
  const asked: unknown[] = [];
  const [begun, gone] = [createGate(), createGate()];
  server.answer = ({ url }, response) => {
    asked.push(url);
    response.once("close", gone.open);
    begun.open();
  };
  const client = connect(port, "127.0.0.1");
  client.write(`GET /1 ${rest}GET /2 ${rest}`);
  await begun.opened;
  client.destroy();
  await gone.opened;
  await setImmediate();
  expect(asked).toEqual(["/1"]);
});

test("requests of one connection are carried out in the order they came", async () => {
  const { server, port } = await listen();
  const waiting: ServerResponse[] = [];
  const asked: unknown[] = [];
  let turn = createGate();
  server.answer = ({ url }, response) => {
    asked.push(url);
    waiting.push(response);
    turn.open();
  };
  const sent = send(port, [1, 2, 3].map((each) => `GET /${each} ${rest}`).join(""));
  for (const seen of [["/1"], ["/1", "/2"], ["/1", "/2", "/3"]]) {
    await turn.opened;
    turn = createGate();
    expect(asked).toEqual(seen);
    waiting
      .shift()
      ?.writeHead(200, seen.length === 3 ? { connection: "close" } : {})
      .end();
  }
  expect(await sent).toEqual(["200", "200", "200 close"]);
});

test("what comes between the last answer and the end is not carried out", async () => {
  const { server, port } = await listen();
  const asked: unknown[] = [];
  server.answer = ({ url }, response) => {
    asked.push(url);
    response.writeHead(200, { connection: "close" }).end();
  };
  const [ending, over] = [createGate(), createGate()];
  server.on("connection", (socket) => {
    // Nothing more is written to it; it is gone when it is let.
    const destroy = socket.destroy.bind(socket);
    socket.destroy = (error) => {
      ending.open();
      void over.opened.then(() => destroy(error));
      return socket;
    };
  });
  const client = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  client.resume().write(`GET /1 ${rest}`);
  await ending.opened;
  const arrived = once(server, "request");
  client.write(`GET /2 ${rest}`);
  await arrived;
  over.open();
  client.end();
  await once(client, "close");
  expect(asked).toEqual(["/1"]);
});

test("while the server is closed, what is done is answered", async () => {
  await using world = await createWorld();
  const { write } = world.store;
  const [begun, over] = [createGate(), createGate()];
  const held: typeof write = async (work, options) => {
    begun.open();
    await over.opened;
    return write(work, options);
  };
  Object.assign(world.store, { write: held });
  const { server, port } = await serveApi(carryOverHttp(world.answer));
  const [first, ...others] = writeEach(world, 6);
  const sockets = [connect(port, "127.0.0.1"), connect(port, "127.0.0.1")];
  const answers = sockets.map((socket) => readAnswers(socket));
  // One has sent all of them by the stop, the other goes on to send.
  sockets[0]?.write([first, ...others.slice(0, 2)].join(""));
  await begun.opened;
  const closed = closeHttpServer(server, { most_ms: 60_000 });
  sockets[1]?.write(others.slice(2).join(""));
  await once(server, "request");
  over.open();
  await closed;
  const told = await Promise.all(answers);
  expect(told[1]).toEqual(["201 close"]);
  expect(await listPaths(world)).toHaveLength(told.flat().length);
});

const rest = "HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";

async function listen(): Promise<{ readonly server: HttpServer; readonly port: number }> {
  const server = createHttpServer();
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { server, port: await listenAt(server, { host: "127.0.0.1", port: 0 }) };
}

function writeAll(world: World, count: number): string {
  return writeEach(world, count).join("");
}

function writeEach({ key }: World, count: number): string[] {
  return Array.from({ length: count }, (_, turn) => {
    const body = JSON.stringify({ path: `link-${turn}` });
    const head = [
      "POST /api/v1/links HTTP/1.1",
      "host: 127.0.0.1",
      `authorization: Token ${key}`,
      "content-type: application/json",
      `content-length: ${body.length}`,
    ];
    return `${head.join("\r\n")}\r\n\r\n${body}`;
  });
}

async function listPaths({ call }: World): Promise<readonly string[]> {
  const { body } = await call("GET", "/links");
  return body.links.map(({ path }: { readonly path: string }) => path).toSorted();
}

/** The status of each answer, and whether it was said to be the last. */
async function send(port: number, text: string): Promise<readonly string[]> {
  const socket = connect(port, "127.0.0.1");
  socket.write(text);
  return readAnswers(socket);
}

async function readAnswers(socket: ReturnType<typeof connect>): Promise<readonly string[]> {
  let text = "";
  socket.setEncoding("utf8").on("data", (part: string) => (text += part));
  await once(socket, "close");
  const heads = text.split(/(?=HTTP\/1\.1 )/).filter((part) => part !== "");
  return heads.map((head) => {
    const [, status = ""] = head.split(" ");
    return /^connection: close/im.test(head) ? `${status} close` : status;
  });
}
