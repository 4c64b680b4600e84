import { askModern } from "../load/http-tools.ts";
import { summarizeTimes } from "../load/measure.ts";
import { runStreams, type Samples, type AllSamples, type Stream } from "../load/streams.ts";
import type { BenchFolder } from "../data/bench-folder.ts";
import type { Finding, Target } from "../results/finding.ts";
import { createRing } from "../ring.ts";
import { serveStore, type Server } from "../servers/http-server.ts";
import { createQuestions } from "./creates.ts";
import { createVisit } from "./redirects.ts";
import type { Extent, Rounds, Subject } from "./scenario.ts";

/** A warm server with visitors, an assistant and writers, whose requests have a fixed rate. */
export type Loads = {
  readonly extent: Extent;
  readonly redirects: Stream;
  readonly calls: Stream;
  readonly creates: () => Stream;
  /** Each stream asks for lists that were not asked for before. */
  readonly lists: () => Stream;
  readonly run: (...streams: readonly Stream[]) => Promise<AllSamples>;
};

export const createsPerSecond = 200;
const redirectsPerSecond = 400;
const callsPerSecond = 100;
/** More lists than one caller can get in a window. */
const listsOfWindow = 40;

export async function* measureOnStage(
  { extent, findBenchFolder }: Subject,
  measureRound: (stage: Loads) => Promise<readonly Finding[]>,
): Rounds {
  const benchFolder = await findBenchFolder();
  await using server = await serveStore(benchFolder.file);
  const stage = await prepare(server, benchFolder, extent);
  await warm(stage);
  for (;;) yield await measureRound(stage);
}

async function prepare(server: Server, benchFolder: BenchFolder, extent: Extent): Promise<Loads> {
  const { small } = benchFolder;
  const links = await benchFolder.file.db
    .selectFrom("links")
    .select(["id", "path"])
    .where("project_id", "=", small.projectId)
    .limit(1000)
    .execute();
  const visit = createVisit(server, small.subdomain);
  const nextKey = createRing(small.keys);
  const create = createQuestions(small.keys);
  const nextScan = createRing(describeScans(benchFolder));
  return {
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
    lists: () => ({
      name: "lists",
      status: 200,
      callers: 1,
      questions: Array.from({ length: listsOfWindow }, nextScan),
    }),
    run: (...streams) => runStreams({ url: server.url, seconds: extent.seconds, streams }),
  };
}

/** Lists that an index does not speed up: each scans all links of the large project. */
function describeScans({ large }: BenchFolder): readonly { path: string; token: string }[] {
  const letters = "bcdfghklmnprstvw".split("");
  // The server keeps counts that it knows, so each list has a new filter.
  const pairs = letters.flatMap((one) => letters.map((other) => `${one}${other}`));
  const nextKey = createRing(large.keys);
  return pairs.flatMap((pair) => {
    const queries = [{ "q[s]": "shortened_path asc" }, { "q[name_cont]": pair }];
    return queries.map((query) => {
      return { path: `/api/v1/links?${new URLSearchParams(query).toString()}`, token: nextKey() };
    });
  });
}

async function warm({ run, redirects, calls, creates, lists, extent }: Loads): Promise<void> {
  const rounds = Math.ceil(extent.warming / (redirectsPerSecond * 4 * extent.seconds));
  for (let round = 0; round < rounds; round += 1) {
    // At the usual rate, the JIT compiler would need minutes.
    await run({ ...redirects, per_second: redirectsPerSecond * 4 }, calls, creates());
  }
  await run(redirects, calls, lists());
}

type WaitTargets = { readonly unloaded: Samples; readonly most?: Target; readonly times?: Target };

export function describeWaiting(
  what: string,
  heard: Samples,
  { unloaded, most = {}, times = {} }: WaitTargets,
): readonly Finding[] {
  const p99_ms = findP99(heard);
  return [
    { what: `${what}, p99`, unit: "ms", value: p99_ms, target: most },
    {
      what: `${what}, p99 relative to no other load`,
      unit: "times",
      value: p99_ms / findP99(unloaded),
      target: times,
    },
  ];
}

/** Unexpected responses, and delays of the bench, in all streams of a round. */
export function describeFaults(all: readonly Samples[]): readonly Finding[] {
  const late_ms = all.map((heard) => summarizeTimes(heard.late_ms).p99_ms);
  return [
    {
      what: "refused or broken off",
      unit: "answers",
      value: all.reduce((sum, { strange }) => sum + strange.length, 0),
      target: { most: 0 },
      gather: "sum",
    },
    { what: "sent later than due, p99, at worst", unit: "ms", value: Math.max(...late_ms) },
  ];
}

export function pickHeard(heard: AllSamples, name: Stream["name"]): Samples {
  const found = heard[name];
  if (found === undefined) throw new Error(`nothing was heard of ${name}`);
  return found;
}

/** The time of a failed request is a lower limit for its wait, so it counts as well. */
export function findP99({ times_ms, strange }: Samples): number {
  return summarizeTimes([...times_ms, ...strange.map(({ time_ms }) => time_ms)]).p99_ms;
}
