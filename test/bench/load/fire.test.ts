import { expect, test } from "vitest";
import { startDeployment } from "../../support/mcp-deployment.ts";
import { fire } from "./fire.ts";

/** Askers who wait for the whole of each answer. */

const readCpu_us = () => Promise.resolve(0);
const status = 200;

test("an answer has come when all of it has, however it is sent", async () => {
  const long = "é".repeat(100_000);
  await using server = await startDeployment(({ url }, response) => {
    if (url === "/none") response.writeHead(status, { "content-length": 0 }).end();
    else if (url === "/whole") response.writeHead(status).end(long);
    else {
      // Without a length it goes in pieces, and the second one must not be somebody else's.
      response.writeHead(status).write(long);
      setImmediate(() => response.end(long));
    }
  });
  const questions = ["/none", "/whole", "/pieces"].map((path) => ({ path }));
  const barrage = { connections: 2, requests: 30, status, questions };
  const { times_ms } = await fire({ url: server.url, readCpu_us }, barrage);
  expect(times_ms).toHaveLength(30);
  expect(server.requests).toHaveLength(30);
  expect(server.connections()).toBe(2);
});

test("each question arrives whole, its body among it", async () => {
  const bodies = new Set<string>();
  await using server = await startDeployment(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    bodies.add(`${request.method} ${request.url} ${request.headers.authorization} ${body}`);
    response.end("{}");
  });
  let turn = 0;
  const questions = () => {
    const body = { name: `Frühling ${(turn += 1)}` };
    return { method: "POST", path: "/links", token: "key", body } as const;
  };
  await fire({ url: server.url, readCpu_us }, { connections: 1, requests: 2, status, questions });
  expect([...bodies]).toEqual([
    'POST /links Token key {"name":"Frühling 1"}',
    'POST /links Token key {"name":"Frühling 2"}',
  ]);
});

test("another answer, or none, ends the bench", async () => {
  await using server = await startDeployment((request, response) => {
    if (request.url === "/gone") request.socket.destroy();
    else response.writeHead(503).end("not now");
  });
  const ask = (path: string) =>
    fire({ url: server.url, readCpu_us }, { requests: 1, status, questions: [{ path }] });
  await expect(ask("/")).rejects.toThrow("503");
  await expect(ask("/gone")).rejects.toThrow("closed a connection");
});
