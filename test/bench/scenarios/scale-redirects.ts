import { ask } from "../load/ask.ts";
import { fire } from "../load/fire.ts";
import { startLoad } from "../load/load.ts";
import { summarize, summarizeTimes } from "../load/measure.ts";
import { findMedian, type Finding } from "../results/finding.ts";
import type { Server } from "../servers/http-server.ts";
import { takeBoth } from "../take-both.ts";
import { createQuestions } from "./creates.ts";
import { openPlaces, writeVisits, type Place } from "./scale-ground.ts";
import { findP99, pickHeard } from "./stage.ts";
import type { Extent, Rounds, Subject } from "./scenario.ts";

/** Redirects on both engines: beside writes, out of the cache, and the first one of each link. */
export async function* measureScaleRedirects({ build, extent }: Subject): Rounds {
  await using opened = await openPlaces(build);
  const { places } = opened;
  const findings: Finding[] = [];
  for (const place of places) {
    findings.push(...(await measureBesideWrites(place, extent)));
  }
  findings.push(...(await compareRedirects(places, extent)));
  findings.push(...(await measureFirstVisits(places[1])));
  yield findings;
}

const redirectsOfSecond = 10_000;

const creates = 1000;
const createsPerSecond = 200;
const redirectsPerSecond = 400;

/** Visitors alone, and while 1,000 links are written. */
async function measureBesideWrites(place: Place, extent: Extent): Promise<readonly Finding[]> {
  await using server = await place.serve();
  await using load = await startLoad();
  const writers = await place.addPlot("writers", 25);
  const redirects = {
    name: "redirects",
    status: 302,
    per_second: redirectsPerSecond,
    questions: writeVisits(server, place, 1000),
  };
  const create = createQuestions(writers.keys);
  const write = () => ({
    name: "creates",
    status: 201,
    per_second: createsPerSecond,
    questions: Array.from({ length: creates }, create),
  });
  const order = { url: server.url, seconds: creates / createsPerSecond };
  const faster = { ...redirects, per_second: redirectsPerSecond * 4 };
  for (let round = 0; round < Math.ceil(extent.warming / 8000); round += 1) {
    await load.ask({ ...order, streams: [faster, write()] });
  }
  const alone = pickHeard(await load.ask({ ...order, streams: [redirects] }), "redirects");
  const heard = await load.ask({ ...order, streams: [redirects, write()] });
  const beside = pickHeard(heard, "redirects");
  const what = `${place.engine}: redirects`;
  const refused = Object.values(heard).flatMap(({ strange }) => strange).length;
  return [
    { what: `${what} alone, p99`, unit: "ms", value: findP99(alone) },
    { what: `${what} while 1,000 links are written, p99`, unit: "ms", value: findP99(beside) },
    { what: `${what} and writes refused meanwhile`, unit: "answers", value: refused },
  ];
}

const pairs = 10;

/** What this process has seen before is answered without the database. */
async function compareRedirects(
  [one, other]: readonly [Place, Place],
  extent: Extent,
): Promise<readonly Finding[]> {
  await using sqlite = await one.serve();
  await using postgres = await other.serve();
  await measureVisits(sqlite, one, extent.warming);
  await measureVisits(postgres, other, extent.warming);
  const taken: (readonly [number, number])[] = [];
  for (let turn = 0; turn < pairs; turn += 1) {
    const both = await takeBoth(
      turn,
      () => measureVisits(sqlite, one, redirectsOfSecond * extent.seconds),
      () => measureVisits(postgres, other, redirectsOfSecond * extent.seconds),
    );
    taken.push(both);
  }
  const median = (read: (both: readonly [number, number]) => number) =>
    findMedian(taken.map((both) => read(both)));
  return [
    { what: "SQLite: a redirect from cache, CPU", unit: "µs", value: median(([us]) => us) },
    { what: "PostgreSQL: a redirect from cache, CPU", unit: "µs", value: median(([, us]) => us) },
    {
      what: "PostgreSQL: a redirect from cache, CPU of SQLite's",
      unit: "times",
      value: median(([file, database]) => database / file),
      target: { most: 1.1 },
    },
  ];
}

async function measureVisits(server: Server, place: Place, requests: number): Promise<number> {
  const questions = writeVisits(server, place, 1000);
  return summarize(await fire(server, { status: 302, requests, questions })).cpu_us;
}

/** Each link is visited for the first time, by a process that is warm from visits of others. */
async function measureFirstVisits(place: Place): Promise<readonly Finding[]> {
  await using server = await place.serve();
  const visits = writeVisits(server, place, place.links.length);
  const times_ms: number[] = [];
  for (const [turn, visit] of visits.entries()) {
    const started = performance.now();
    const { status } = await ask(server, visit);
    if (status !== 302) throw new Error(`a visit was answered with ${status}`);
    if (turn >= visits.length / 2) times_ms.push(performance.now() - started);
  }
  const { p50_ms, p99_ms } = summarizeTimes(times_ms);
  const what = `${place.engine}: a first redirect`;
  return [
    { what: `${what}, p50`, unit: "ms", value: p50_ms },
    { what: `${what}, p99`, unit: "ms", value: p99_ms, target: { most: 3 } },
  ];
}
