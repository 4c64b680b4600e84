import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { carryOverHttp } from "../../src/service/http-carrier.ts";
import { serveApi, createWorld, type World } from "../support/world.ts";

/** A read is answered in a quicker way than the rest; nobody may be able to tell. */

let world: World;
let id: string;
const servers: { readonly port: number; readonly close: () => Promise<void> }[] = [];

beforeAll(async () => {
  world = await createWorld();
  const body = { path: "spring/sale", name: "Frühling" };
  ({ id } = (await world.call("POST", "/links", { body })).body as { id: string });
  const api = carryOverHttp(world.answer, world.clock);
  servers.push(await serveApi(api), await serveApi({ ...api, answerRead: () => false }));
});

afterAll(async () => {
  for (const { close } of servers) await close();
  await world[Symbol.asyncDispose]();
});

/** What comes back until the connection ends, but for the time and the order of the headers. */
async function say(port: number, lines: readonly string[]): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(`${[...lines, "Connection: close"].join("\r\n")}\r\n\r\n`);
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  await once(socket, "close");
  const [head = "", ...body] = text.split("\r\n\r\n");
  const [status = "", ...headers] = head.split("\r\n");
  const told = headers.map((header) =>
    header.toLowerCase().replace(/^(date|x-request-id): .*/, "$1"),
  );
  return [status, ...told.toSorted(), ...body].join("\n");
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

test.each(asked)("%s is answered as any request is", async (_, lines, status) => {
  const [quick, usual] = await Promise.all(servers.map(({ port }) => say(port, lines())));
  expect(quick).toBe(usual);
  expect(quick).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
});
