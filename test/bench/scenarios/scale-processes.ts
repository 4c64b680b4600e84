import { cpus } from "node:os";
import { mostRequests } from "../../../src/compose/renew-connections.ts";
import { listChildren } from "../../support/child-processes.ts";
import { ask } from "../load/ask.ts";
import { fire } from "../load/fire.ts";
import { flood, type Flooded } from "../load/flood.ts";
import { startLoad } from "../load/load.ts";
import { summarize, summarizeTimes } from "../load/measure.ts";
import { findMedian, type Finding, type Target } from "../results/finding.ts";
import type { Server } from "../servers/http-server.ts";
import { findController, holdToShare, type Controller } from "../servers/share-of-core.ts";
import { readThreads_us } from "../servers/threads.ts";
import { takeBoth } from "../take-both.ts";
import { createQuestions } from "./creates.ts";
import { openPlaces, writeCalls, writeVisits, type Place } from "./scale-ground.ts";
import { findP99, pickHeard } from "./stage.ts";
import type { Extent, Rounds, Subject } from "./scenario.ts";

/** More than one machine's worth: several processes on both engines. */
export async function* measureScaleProcesses({ build, extent }: Subject): Rounds {
  await using opened = await openPlaces(build);
  const { places } = opened;
  const controller = findController();
  if (controller === undefined) console.log(unheld);
  const findings: Finding[] = [];
  for (const place of places) {
    findings.push(...(await measureProcesses(place, { extent, controller })));
    findings.push(...(await measureBesideWrites(place, extent)));
  }
  findings.push(...(await compareRedirects(places, extent)));
  findings.push(...(await measureFirstVisits(places[1])));
  yield findings;
}

const redirectsOfSecond = 10_000;

/** What is asked of the processes behind one port, and how much of it in a second. */
const loads = [
  {
    name: "redirects",
    status: 302,
    perSecond: 60_000,
    together: 50,
    write: (server: Server, place: Place) => writeVisits(server, place, 1000),
  },
  { name: "MCP calls", status: 200, perSecond: 5000, together: 4, write: writeCalls },
];
type Load = (typeof loads)[number];

const counts = [1, 2, 4];
const connections = 32;
const turns = 3;

/**
 * Two whole cores are free for two processes only where a load, and a database, have others. Two
 * parts of a core are free on a machine of two cores as well.
 */
const share = 0.5;
const mostHeld = 2;
const heldConnections = 16;

const unheld =
  "  No rows of processes of half a core: there is no cgroup with a cpu controller that this " +
  "user may write to. On Linux run the bench as root; where /proc/self/mounts names none, first " +
  "`mount -t cgroup -o cpu none FOLDER`, or `echo +cpu` into cgroup.subtree_control of cgroup2.";

type Means = { readonly extent: Extent; readonly controller: Controller | undefined };

/** In turns, so that a machine that grows slower meanwhile is nobody's fault. */
async function measureProcesses(
  place: Place,
  { extent, controller }: Means,
): Promise<readonly Finding[]> {
  const taken = new Map<string, Flooded[]>();
  const keep = (name: string, found: Flooded) =>
    taken.set(name, [...(taken.get(name) ?? []), found]);
  for (let turn = 0; turn < turns; turn += 1) {
    for (const count of turn % 2 === 0 ? counts : counts.toReversed()) {
      await using server = await place.serve(["--processes", String(count)]);
      for (const load of loads) {
        const wanted = { place, load, count, extent };
        keep(nameRow({ place, load, count }), await floodAll(server, wanted));
        if (controller === undefined || count > mostHeld) continue;
        const held = await floodHeld(server, { ...wanted, controller });
        keep(nameRow({ place, load, count, isHeld: true }), held);
      }
    }
  }
  return loads.flatMap((load) =>
    [false, true].flatMap((isHeld) => describeRows(taken, { place, load, isHeld })),
  );
}

type Kind = { readonly place: Place; readonly load: Load; readonly isHeld?: boolean };

function describeRows(taken: ReadonlyMap<string, readonly Flooded[]>, kind: Kind) {
  const alone = taken.get(nameRow({ ...kind, count: 1 })) ?? [];
  return counts.flatMap((count): readonly Finding[] => {
    const what = nameRow({ ...kind, count });
    const all = taken.get(what);
    if (all === undefined) return [];
    const median = (read: (one: Flooded) => number) => findMedian(all.map(read));
    const ratios = all.map(({ per_second }, turn) => {
      return per_second / (alone[turn]?.per_second ?? Number.NaN);
    });
    const target = count === 2 ? judgeRate(kind) : {};
    return [
      { what, unit: "a second", value: median(({ per_second }) => per_second) },
      { what: `${what}, CPU`, unit: "µs", value: median(({ cpu_us }) => cpu_us) },
      { what: `${what}, the load's`, unit: "cores", value: median((one) => one.load_cores) },
      ...(count === 1
        ? []
        : [{ what: `${what}, rate of one's`, unit: "times", value: findMedian(ratios), target }]),
    ];
  });
}

function nameRow({ place, load, count, isHeld }: Kind & { readonly count: number }): string {
  const processes = `${count} process${count === 1 ? "" : "es"}`;
  return `${place.engine}: ${load.name} of ${processes}${isHeld === true ? " of half a core" : ""}`;
}

/**
 * The load has a core of its own beside the two. PostgreSQL takes as long for a call as the process
 * that asks it, and a core for each.
 */
function judgeRate({ place: { engine }, load: { name }, isHeld }: Kind): Target {
  const wanted = engine === "PostgreSQL" && name === "MCP calls" ? 5 : 3;
  return isHeld === true || cpus().length >= wanted ? { least: 1.5 } : {};
}

type Wanted = {
  readonly place: Place;
  readonly load: Load;
  readonly count: number;
  readonly extent: Extent;
};

async function floodAll(
  server: Server,
  { place, load: { status, perSecond, together, write }, count, extent }: Wanted,
): Promise<Flooded> {
  const asked = { connections, together, status, questions: write(server, place) };
  // Each process is warm only when it has answered as much as one alone has.
  const warmth = (extent.warming / warmedPerSecond) * Math.min(count, cpus().length);
  return flood(withAll(server, count), {
    ...asked,
    warming: perSecond * warmth,
    requests: perSecond * extent.seconds,
  });
}

/** Over connections that have been renewed, so that each process has as many as the other. */
async function floodHeld(
  server: Server,
  { place, load, count, extent, controller }: Wanted & { readonly controller: Controller },
): Promise<Flooded> {
  const { status, perSecond, together, write } = load;
  using _ = holdToShare(controller, listServing(server, count), share);
  return await flood(withAll(server, count), {
    connections: heldConnections,
    together,
    status,
    questions: write(server, place),
    // One process renews none.
    warming: count === 1 ? 0 : heldConnections * mostRequests * count,
    requests: perSecond * extent.seconds * share * count,
  });
}

function withAll(server: Server, count: number): Pick<Server, "url" | "readCpu_us"> {
  const pids = count === 1 ? [server.pid] : [server.pid, ...listServing(server, count)];
  const readAll_us = () => pids.reduce((sum, one) => sum + readThreads_us(one), 0);
  return { url: server.url, readCpu_us: () => Promise.resolve(readAll_us()) };
}

/** The first of several answers nobody. */
function listServing({ pid }: Server, count: number): readonly number[] {
  return count === 1 ? [pid] : listChildren(pid);
}

const warmedPerSecond = 2000;

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
