import { setTimeout } from "node:timers/promises";
import { askModern } from "../load/http-tools.ts";
import { startLoad, type Load } from "../load/load.ts";
import { summarizeTimes } from "../load/measure.ts";
import type { Heard, HeardAll, Stream } from "../load/streams.ts";
import { endIndex, startIndex, type Ground } from "../ground/ground.ts";
import type { Finding, Target } from "../results/finding.ts";
import { createRing } from "../ring.ts";
import { serve, type Server } from "../servers/http-server.ts";
import { createQuestions } from "./creates.ts";
import { createVisit } from "./redirects.ts";
import type { Extent, Rounds, Subject } from "./scenario.ts";

/**
 * What a visitor and an assistant wait while the same server does something else: redirects and
 * calls come at a fixed rate, whatever the server does, and their time counts from when they are
 * due.
 */

const redirectsPerSecond = 400;
const callsPerSecond = 100;
const createsPerSecond = 200;
/** Each with a key of its own; a job keeps the budget's pace. */
const jobs = 4;
const jobRowsPerSecond = 10;

export async function* measureLatency({ build, extent, findGround }: Subject): Rounds {
  const ground = await findGround();
  await using server = await serve(build, ground.file.folder);
  await using load = await startLoad();
  const stage = await prepare(server, ground, load, extent);
  await warm(stage);
  for (;;) yield await measureRound(stage);
}

type Stage = {
  readonly ground: Ground;
  readonly redirects: Stream;
  readonly calls: Stream;
  readonly creates: () => Stream;
  readonly lists: Stream;
  readonly server: Server;
  readonly extent: Extent;
  readonly run: (...streams: readonly Stream[]) => Promise<HeardAll>;
};

async function prepare(server: Server, ground: Ground, load: Load, extent: Extent): Promise<Stage> {
  const { small } = ground;
  const links = await ground.file.db
    .selectFrom("links")
    .select(["id", "path"])
    .where("project_id", "=", small.projectId)
    .limit(1000)
    .execute();
  const visit = createVisit(server, small.subdomain);
  // The first keys are the jobs', whose budget has no room for others.
  const keys = small.keys.slice(jobs);
  const nextKey = createRing(keys);
  const create = createQuestions(keys);
  return {
    server,
    ground,
    extent,
    redirects: {
      name: "redirects",
      status: 302,
      per_second: redirectsPerSecond,
      questions: links.map(({ path }) => visit(path)),
    },
    calls: {
      name: "calls",
      status: 200,
      per_second: callsPerSecond,
      questions: links.map(({ id }) => {
        const params = { name: "get_link", arguments: { id } };
        return askModern(server, nextKey()).write("tools/call", params);
      }),
    },
    creates: () => ({
      name: "creates",
      status: 201,
      per_second: createsPerSecond,
      questions: Array.from({ length: createsPerSecond * extent.seconds }, create),
    }),
    lists: { name: "lists", status: 200, callers: 1, questions: describeScans(ground) },
    run: (...streams) => load.ask({ url: server.url, seconds: extent.seconds, streams }),
  };
}

/** Lists that no index helps: each looks at every link of the large project. */
function describeScans({ large }: Ground): readonly { path: string; token: string }[] {
  const letters = "bcdfghklmnprstvw".split("");
  // A count that is known already is not counted again, so that every list asks for another one.
  const pairs = letters.flatMap((one) => letters.map((other) => `${one}${other}`));
  const nextKey = createRing(large.keys);
  return pairs.flatMap((pair) => {
    const queries = [{ "q[s]": "shortened_path asc" }, { "q[name_cont]": pair }];
    return queries.map((query) => {
      return { path: `/api/v1/links?${new URLSearchParams(query).toString()}`, token: nextKey() };
    });
  });
}

async function warm({ run, redirects, calls, creates, lists, extent }: Stage): Promise<void> {
  const rounds = Math.ceil(extent.warming / (redirectsPerSecond * 4 * extent.seconds));
  for (let round = 0; round < rounds; round += 1) {
    // At the same pace the compiler would need minutes.
    await run({ ...redirects, per_second: redirectsPerSecond * 4 }, calls, creates());
  }
  await run(redirects, calls, lists);
}

async function measureRound(stage: Stage): Promise<readonly Finding[]> {
  const { run, redirects, calls, creates, lists } = stage;
  const alone = pickHeard(await run(redirects), "redirects");
  const withCreates = await run(redirects, creates());
  const withJobs = await besideJobs(stage, () => run(redirects));
  const withIndex = await besideIndex(stage, () => run(redirects));
  const together = await run(redirects, calls);
  const withLists = await run(redirects, calls, lists);
  const windows = [withCreates, withJobs, withIndex, together, withLists];
  const alone_ms = findP99(alone);
  const describe = (beside: string, heard: HeardAll, most: Target, times: Target) => {
    return describeWaiting(`redirects, ${beside}`, pickHeard(heard, "redirects"), {
      alone_ms,
      most,
      times,
    });
  };
  return [
    { what: "redirects alone, p50", unit: "ms", value: summarizeTimes(alone.times_ms).p50_ms },
    { what: "redirects alone, p99", unit: "ms", value: alone_ms },
    ...describe(`${createsPerSecond} creates a second`, withCreates, { most: 15 }, { most: 3 }),
    {
      what: "creates meanwhile, p99",
      unit: "ms",
      value: findP99(pickHeard(withCreates, "creates")),
    },
    ...describe(`${jobs} jobs`, withJobs, {}, {}),
    ...describe("an index build", withIndex, {}, {}),
    ...describe("lists that scan", withLists, {}, { most: 2 }),
    { what: "get_link alone, p99", unit: "ms", value: findP99(pickHeard(together, "calls")) },
    ...describeWaiting("get_link, lists that scan", pickHeard(withLists, "calls"), {
      alone_ms: findP99(pickHeard(together, "calls")),
      most: {},
      times: { most: 2 },
    }),
    {
      what: "a list that scans, p50",
      unit: "ms",
      value: summarizeTimes(pickHeard(withLists, "lists").times_ms).p50_ms,
    },
    {
      what: "refused or broken off",
      unit: "answers",
      value: countStrange([alone, ...windows.flatMap((heard) => Object.values(heard))]),
      target: { most: 0 },
      gather: "sum",
    },
    {
      what: "sent later than due, p99",
      unit: "ms",
      value: summarizeTimes(alone.late_ms).p99_ms,
    },
  ];
}

type Wanted = { readonly alone_ms: number; readonly most: Target; readonly times: Target };

function describeWaiting(
  what: string,
  heard: Heard,
  { alone_ms, most, times }: Wanted,
): readonly Finding[] {
  const p99_ms = findP99(heard);
  return [
    { what: `${what}, p99`, unit: "ms", value: p99_ms, target: most },
    { what: `${what}, p99 of alone`, unit: "times", value: p99_ms / alone_ms, target: times },
  ];
}

async function besideJobs(
  { ground, server, extent }: Stage,
  work: () => Promise<HeardAll>,
): Promise<HeardAll> {
  // They must not end before the work does.
  const count = jobRowsPerSecond * (extent.seconds + 5);
  const cancels: (() => Promise<unknown>)[] = [];
  for (const key of ground.small.keys.slice(0, jobs)) {
    const series = `${Date.now().toString(36)}-${cancels.length}`;
    const rows = Array.from({ length: count }, (_, row) => {
      return { path: `job/${series}/${row}`, url: `https://www.example.com/${row}` };
    });
    const call = async (name: string, args: object) => {
      const result = await askModern(server, key).ask("tools/call", { name, arguments: args });
      return result.structuredContent;
    };
    const { plan } = await call("plan_links", { operation: "upsert", rows });
    const { job } = await call("apply_plan", { plan_id: plan.id });
    cancels.push(() => call("cancel_job", { job_id: job.id }));
  }
  const heard = await work();
  for (const cancel of cancels) await cancel();
  return heard;
}

async function besideIndex({ ground }: Stage, work: () => Promise<HeardAll>): Promise<HeardAll> {
  const { file, large } = ground;
  await startIndex(file, large);
  // The process looks for such work once a second.
  await setTimeout(1000);
  const heard = await work();
  await endIndex(file, large);
  return heard;
}

function pickHeard(heard: HeardAll, name: string): Heard {
  const found = heard[name];
  if (found === undefined) throw new Error(`nothing was heard of ${name}`);
  return found;
}

/** Who was refused in the end has waited so long at least. */
function findP99({ times_ms, strange }: Heard): number {
  return summarizeTimes([...times_ms, ...strange.map(({ time_ms }) => time_ms)]).p99_ms;
}

function countStrange(all: readonly Heard[]): number {
  return all.reduce((sum, { strange }) => sum + strange.length, 0);
}
