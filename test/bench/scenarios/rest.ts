import { openBeside } from "../load/beside.ts";
import { createRing } from "../ring.ts";
import { serveStore } from "../servers/http-server.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** Reads a link over REST, compared with a bare `node:http` server with the same response. */

const perSecond = 1000;

export async function* measureRest({ extent, findBenchFolder }: Subject): Rounds {
  const { file, large, samples } = await findBenchFolder();
  await using server = await serveStore(file);
  const nextKey = createRing(large.keys);
  const questions = samples.map(({ id }) => ({ path: `/api/v1/links/${id}`, token: nextKey() }));
  const [first = { path: "/" }] = questions;
  const barrage = { status: 200, questions };
  await using beside = await openBeside(server, first, { ...barrage, requests: extent.warming });
  for (;;) {
    const requests = perSecond * extent.seconds;
    const { ours, bare } = await beside.measure({ ...barrage, requests });
    yield [
      { what: "GET /links/:id, CPU", unit: "µs", value: ours.cpu_us },
      {
        what: "GET /links/:id, CPU of node:http",
        unit: "times",
        value: ours.cpu_us / bare.cpu_us,
        target: { most: 2.5 },
      },
      {
        what: "GET /links/:id, rate of node:http",
        unit: "times",
        value: ours.per_second / bare.per_second,
      },
    ];
  }
}
