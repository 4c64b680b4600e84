import { expect, test } from "vitest";
import { startDeployment } from "../../support/remote.ts";
import { fire } from "./fire.ts";
import { runStreams } from "./streams.ts";

/** The two senders of the bench: `fire` in its own process, `runStreams` in the load process. */

const readCpu_us = () => 0;
const status = 200;
const per_second = 100;
const interval_ms = 1000 / per_second;
const stream = { name: "asked", questions: [{ path: "/" }], status } as const;

test("fire reads the whole response, whether empty, with a length or in chunks", async () => {
  const long = "é".repeat(100_000);
  await using server = await startDeployment(({ url }, response) => {
    if (url === "/none") response.writeHead(status, { "content-length": 0 }).end();
    else if (url === "/whole") response.writeHead(status).end(long);
    else {
      // Without a length, Node sends it in chunks.
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

test("fire sends each request completely, with its body", async () => {
  const bodies: string[] = [];
  await using server = await startDeployment(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    bodies.push(`${request.method} ${request.url} ${request.headers.authorization} ${body}`);
    response.end("{}");
  });
  const body = { name: "Frühling" };
  const questions = [{ method: "POST", path: "/links", token: "key", body }] as const;
  await fire({ url: server.url, readCpu_us }, { requests: 1, status, questions });
  expect(bodies).toEqual(['POST /links Token key {"name":"Frühling"}']);
});

test("fire rejects a wrong status or closed connection, and runStreams reports it", async () => {
  await using server = await startDeployment((request, response) => {
    if (request.url === "/gone") request.socket.destroy();
    else response.writeHead(503).end("not now");
  });
  const { url } = server;
  const questions = ["/", "/gone"].map((path) => ({ path }));
  const [refused, gone] = questions.map((question) =>
    fire({ url, readCpu_us }, { requests: 1, status, questions: [question] }),
  );
  await expect(refused).rejects.toThrow("503");
  await expect(gone).rejects.toThrow("closed a connection");
  const order = { url, seconds: 2 / per_second, streams: [{ ...stream, questions, per_second }] };
  const heard = await runStreams(order);
  const said = heard["asked"]?.strange.map((one) => one.said);
  expect(new Set(said)).toEqual(new Set(["503 not now", "Error: socket hang up"]));
});

test("a stream sends on time without earlier responses, and counts from the due time", async () => {
  const held: (() => void)[] = [];
  const all = 5;
  await using server = await startDeployment((_, response) => {
    held.push(() => response.end());
    if (held.length === all) for (const answer of held) answer();
  });
  const order = { url: server.url, seconds: all / per_second };
  const heard = await runStreams({ ...order, streams: [{ ...stream, per_second }] });
  const times_ms = heard["asked"]?.times_ms ?? [];
  expect(times_ms).toHaveLength(all);
  // The first response came after the last request, which was sent when it was due.
  expect(Math.max(...times_ms)).toBeGreaterThanOrEqual((all - 1) * interval_ms);
});

test("a caller sends its next request only after the response", async () => {
  let [asking, most] = [0, 0];
  await using server = await startDeployment((_, response) => {
    most = Math.max(most, (asking += 1));
    setImmediate(() => {
      asking -= 1;
      response.end();
    });
  });
  const order = { url: server.url, seconds: 0.05, streams: [{ ...stream, callers: 2 }] };
  expect((await runStreams(order))["asked"]?.strange).toEqual([]);
  expect(most).toBeLessThanOrEqual(2);
});
