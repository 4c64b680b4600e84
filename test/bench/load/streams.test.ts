import { expect, test } from "vitest";
import { startDeployment } from "../../support/mcp-deployment.ts";
import { runStreams } from "./streams.ts";

/** The load of the bench: when it is sent, and from when its time counts. */

const per_second = 100;
const interval_ms = 1000 / per_second;
const ask = { name: "asked", questions: [{ path: "/" }], status: 200 } as const;

test("what is due is sent though nothing was answered, and waiting counts from then", async () => {
  const held: (() => void)[] = [];
  const all = 5;
  await using server = await startDeployment((_, response) => {
    held.push(() => response.end());
    // Whoever waits for an answer before asking again would wait here for ever.
    if (held.length === all) for (const answer of held) answer();
  });
  const order = { url: server.url, seconds: all / per_second };
  const heard = await runStreams({ ...order, streams: [{ ...ask, per_second }] });
  const times_ms = heard["asked"]?.times_ms.toSorted((one, other) => other - one) ?? [];
  expect(times_ms).toHaveLength(all);
  // The first one waited until the last one had come, which was not sent before it was due.
  expect(times_ms[0]).toBeGreaterThanOrEqual((all - 1) * interval_ms);
});

test("a caller asks again only when it was answered, each its own questions", async () => {
  let [asking, most] = [0, 0];
  const paths = new Set<string | undefined>();
  await using server = await startDeployment(({ url }, response) => {
    most = Math.max(most, (asking += 1));
    paths.add(url);
    setImmediate(() => {
      asking -= 1;
      response.end();
    });
  });
  const questions = ["/one", "/other"].map((path) => ({ path }));
  const order = { url: server.url, seconds: 0.05 };
  const heard = await runStreams({ ...order, streams: [{ ...ask, questions, callers: 2 }] });
  expect(heard["asked"]?.strange).toEqual([]);
  expect(most).toBeLessThanOrEqual(2);
  expect(paths).toEqual(new Set(["/one", "/other"]));
});

test("another answer is told, and so is none at all", async () => {
  await using server = await startDeployment((request, response) => {
    if (request.url === "/gone") request.socket.destroy();
    else response.writeHead(503).end("not now");
  });
  const questions = ["/", "/gone"].map((path) => ({ path }));
  const order = { url: server.url, seconds: 2 / per_second };
  const heard = await runStreams({ ...order, streams: [{ ...ask, questions, per_second }] });
  expect(heard["asked"]?.times_ms).toEqual([]);
  const said = heard["asked"]?.strange.map((one) => one.said);
  expect(new Set(said)).toEqual(new Set(["503 not now", "Error: socket hang up"]));
});
