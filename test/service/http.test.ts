import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { answerOverHttp } from "../../src/service/http.ts";
import { openForAll } from "../support/open-for.ts";
import { serveApi, createWorld, type World } from "../support/world.ts";

/** Tests which addresses and headers the API accepts over HTTP. */

let world: World;
let id: string;
let server: { readonly port: number; readonly close: () => Promise<void> };

openForAll(createWorld, async (opened, keep) => {
  world = opened;
  const body = { path: "spring/sale", name: "Frühling" };
  ({ id } = (await world.call("POST", "/links", { body })).body as { id: string });
  server = keep(await serveApi(answerOverHttp(world.answer, world.clock)));
});

async function sendLines(lines: readonly string[]): Promise<string> {
  const socket = connect(server.port, "127.0.0.1");
  socket.write(`${[...lines, "Connection: close"].join("\r\n")}\r\n\r\n`);
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  await once(socket, "close");
  return text;
}

const host = "Host: example.com:8080";
const token = () => `Authorization: Token ${world.key}`;

const requests: readonly (readonly [string, () => readonly string[], status: number])[] = [
  ["GET for a link", () => [`GET /api/v1/links/${id} HTTP/1.1`, host, token()], 200],
  ["HEAD for a link", () => [`HEAD /api/v1/links/${id} HTTP/1.1`, host, token()], 200],
  [
    "GET for a list",
    () => ["GET /api/v1/links?q%5Bpath_eq%5D=spring/sale HTTP/1.1", host, token()],
    200,
  ],
  ["a key in the query", () => [`GET /api/v1/links?api_key=${world.key} HTTP/1.1`, host], 200],
  ["no key", () => ["GET /api/v1/links HTTP/1.1", host], 401],
  ["two keys", () => ["GET /api/v1/links HTTP/1.1", host, token(), "Authorization: Token x"], 401],
  ["an unknown link", () => ["GET /api/v1/links/x HTTP/1.1", host, token()], 404],
  ["an unknown path", () => ["GET /nowhere HTTP/1.1", host, token()], 404],
  ["a path with dot segments", () => ["GET /x/../api/v1/links HTTP/1.1", host, token()], 200],
  [
    "a path with encoded dot segments",
    () => ["GET /x/%2E%2e/api/v1/links HTTP/1.1", host, token()],
    200,
  ],
  [
    "a quote in the query",
    () => ["GET /api/v1/links?q[name_eq]='&x=<\\> HTTP/1.1", host, token()],
    200,
  ],
  ["a backslash in the path", () => ["GET /api\\v1/links HTTP/1.1", host, token()], 400],
  ["an absolute URL", () => ["GET http://a.example/api/v1/links HTTP/1.1", host, token()], 200],
  ["a malformed Host header", () => ["GET /api/v1/links HTTP/1.1", "Host: a b", token()], 400],
  ["no Host header", () => ["GET /api/v1/links HTTP/1.0", token()], 400],
  [
    "a GET with Content-Length 0",
    () => ["GET /api/v1/links HTTP/1.1", host, token(), "Content-Length: 0"],
    200,
  ],
];

test.each(requests)(
  "over HTTP, the API returns the expected status: %s",
  async (_, lines, status) => {
    expect(await sendLines(lines())).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  },
);

test("a rejected request's connection is closed even if its body is incomplete", async () => {
  const socket = connect(server.port, "127.0.0.1");
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  socket.write(["POST /api\\v1/links HTTP/1.1", host, "Content-Length: 9", "", "{"].join("\r\n"));
  await once(socket, "close");
  expect(text).toMatch(/^HTTP\/1.1 400 /);
});
