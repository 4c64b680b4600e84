import { expect, test } from "vitest";
import { startDeployment } from "../../support/mcp-deployment.ts";
import { flood } from "./flood.ts";

/** Askers who put several questions into one message. */

const readCpu_us = () => Promise.resolve(0);
const [status, connections] = [200, 2];

test("each question of a message is asked and answered, however the answers are cut", async () => {
  const asked: string[] = [];
  await using server = await startDeployment(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    asked.push(`${request.url} ${body}`);
    response.socket?.setNoDelay(true);
    response.writeHead(status).write("HTTP/1.");
    setImmediate(() => response.end("x".repeat(100_000)));
  });
  const questions = ["/one", "/two", "/three"].map((path) => {
    return { method: "POST", path, token: "key", body: { name: path } } as const;
  });
  const wanted = { connections, together: 2, warming: 6, requests: 6, status, questions };
  await flood({ url: server.url, readCpu_us }, wanted);
  const turns = ["/one", "/two", "/three"].flatMap((path) =>
    Array.from({ length: 4 }, () => `${path} {"name":"${path}"}`),
  );
  expect(asked.toSorted()).toEqual(turns.toSorted());
  expect(server.connections()).toBe(connections);
});

test("another answer in the middle of a message, or none, ends the bench", async () => {
  await using server = await startDeployment((request, response) => {
    if (request.url === "/gone") request.socket.destroy();
    else response.writeHead(request.url === "/" ? status : 503).end("not now");
  });
  const ask = (path: string) =>
    flood(
      { url: server.url, readCpu_us },
      {
        connections: 1,
        together: 3,
        warming: 0,
        requests: 3,
        status,
        questions: ["/", path, "/"].map(put),
      },
    );
  await expect(ask("/later")).rejects.toThrow("503");
  await expect(ask("/gone")).rejects.toThrow("closed a connection");
});

test("who is told that a connection ends asks what was left over another one", async () => {
  let asked = 0;
  await using server = await startDeployment((_request, response) => {
    asked += 1;
    // The answer to every fourth question is the last one of its connection.
    if (asked % 4 === 0) response.shouldKeepAlive = false;
    response.writeHead(status).end("{}");
  });
  const wanted = {
    connections: 1,
    together: 3,
    warming: 6,
    requests: 6,
    status,
    questions: [put("/")],
  };
  await flood({ url: server.url, readCpu_us }, wanted);
  expect(asked).toBeGreaterThanOrEqual(12);
  expect(server.connections()).toBeGreaterThan(1);
});

function put(path: string) {
  return { path };
}
