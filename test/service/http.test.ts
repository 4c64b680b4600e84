import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { answerOverHttp } from "../../src/service/http.ts";
import { serveApi, createWorld, type World } from "../support/world.ts";

/** Which addresses and headers the API understands over HTTP. */

let world: World;
let id: string;
let server: { readonly port: number; readonly close: () => Promise<void> };

beforeAll(async () => {
  world = await createWorld();
  const body = { path: "spring/sale", name: "Frühling" };
  ({ id } = (await world.call("POST", "/links", { body })).body as { id: string });
  server = await serveApi(answerOverHttp(world.answer, world.clock));
});

afterAll(async () => {
  await server.close();
  await world[Symbol.asyncDispose]();
});

/** What comes back until the connection ends. */
async function say(lines: readonly string[]): Promise<string> {
  const socket = connect(server.port, "127.0.0.1");
  socket.write(`${[...lines, "Connection: close"].join("\r\n")}\r\n\r\n`);
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  await once(socket, "close");
  return text;
}

const host = "Host: example.com:8080";
const token = () => `Authorization: Token ${world.key}`;

const asked: readonly (readonly [string, () => readonly string[], status: number])[] = [
  ["a link", () => [`GET /api/v1/links/${id} HTTP/1.1`, host, token()], 200],
  ["its headers alone", () => [`HEAD /api/v1/links/${id} HTTP/1.1`, host, token()], 200],
  ["a list", () => ["GET /api/v1/links?q%5Bpath_eq%5D=spring/sale HTTP/1.1", host, token()], 200],
  ["a key in the address", () => [`GET /api/v1/links?api_key=${world.key} HTTP/1.1`, host], 200],
  ["no key", () => ["GET /api/v1/links HTTP/1.1", host], 401],
  ["two keys", () => ["GET /api/v1/links HTTP/1.1", host, token(), "Authorization: Token x"], 401],
  ["no such link", () => ["GET /api/v1/links/x HTTP/1.1", host, token()], 404],
  ["no such path", () => ["GET /nowhere HTTP/1.1", host, token()], 404],
  ["a roundabout path", () => ["GET /x/../api/v1/links HTTP/1.1", host, token()], 200],
  ["one that is spelt", () => ["GET /x/%2E%2e/api/v1/links HTTP/1.1", host, token()], 200],
  ["a quote", () => ["GET /api/v1/links?q[name_eq]='&x=<\\> HTTP/1.1", host, token()], 200],
  ["a backslash", () => ["GET /api\\v1/links HTTP/1.1", host, token()], 400],
  ["a whole address", () => ["GET http://a.example/api/v1/links HTTP/1.1", host, token()], 200],
  ["a strange host", () => ["GET /api/v1/links HTTP/1.1", "Host: a b", token()], 400],
  ["no host", () => ["GET /api/v1/links HTTP/1.0", token()], 400],
  ["a body", () => ["GET /api/v1/links HTTP/1.1", host, token(), "Content-Length: 0"], 200],
];

test.each(asked)("a request with %s is understood", async (_, lines, status) => {
  expect(await say(lines())).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
});

test("HEAD returns the headers of GET without a body", async () => {
  const text = await say([`HEAD /api/v1/links/${id} HTTP/1.1`, host, token()]);
  const [head = "", body] = text.toLowerCase().split("\r\n\r\n");
  expect(head).toContain("content-type: application/json");
  expect(head).toContain("cache-control: no-store");
  expect(body).toBe("");
});

test("a refused address ends the connection of a body that never ends", async () => {
  const socket = connect(server.port, "127.0.0.1");
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  socket.write(["POST /api\\v1/links HTTP/1.1", host, "Content-Length: 9", "", "{"].join("\r\n"));
  await once(socket, "close");
  expect(text).toMatch(/^HTTP\/1.1 400 /);
});
