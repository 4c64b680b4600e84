import { awaitIndex, commonApp, endIndex, rareApp, startIndex } from "../ground/ground.ts";
import type { DataFile } from "../ground/data-file.ts";
import type { Ground } from "../ground/ground.ts";
import type { Plot } from "../ground/plots.ts";
import { manyClicks, rareHits, rareWord, type Seeded } from "../ground/seed.ts";
import { ask } from "../load/ask.ts";
import { fire } from "../load/fire.ts";
import { summarize, summarizeTimes } from "../load/measure.ts";
import { watchWhile } from "../load/watch.ts";
import { readTally, tallyWrite } from "../../../src/store/project-tallies.ts";
import type { Finding } from "../results/finding.ts";
import { createRing } from "../ring.ts";
import { serve, type Server } from "../servers/http-server.ts";
import { createQuestions } from "./creates.ts";
import type { Rounds, Subject } from "./scenario.ts";

/**
 * A very large project: who waits while its index is built, then its lists, one request after the
 * other, as after a write, when nobody has counted yet, and again when the count is known.
 */

export async function* measureLists({ build, extent, findGround }: Subject): Rounds {
  const ground = await findGround();
  const { file, large } = ground;
  await endIndex(file, large);
  await using server = await serve(build, file.folder);
  const unindexed = await measureList(server, ground, {
    ...contains,
    limits_ms: undefined,
    what: `${contains.what}, no index`,
  });
  const index = await measureIndexBuild(server, ground);
  const { links } = await readTally({ db: file.db, projectId: large.projectId });
  const findings: Finding[] = [];
  for (const list of describeLists(ground, links)) {
    findings.push(...(await measureList(server, ground, list)));
  }
  const barrage = { status: 201, questions: createQuestions(large.keys) };
  const requests = 100 * extent.seconds;
  // The first ones are for the compiler.
  await fire(server, { ...barrage, requests });
  const { cpu_us } = summarize(await fire(server, { ...barrage, requests }));
  yield [
    ...index,
    ...unindexed,
    ...findings,
    {
      what: "POST /links beside its index, CPU",
      unit: "µs",
      value: cpu_us,
      target: { most: 2000 },
    },
  ];
}

type ListCase = {
  readonly what: string;
  readonly query: [name: string, value: string][];
  /** What `meta.count` must be, where we know. */
  readonly hits?: number;
  /** The longest p50 that is allowed before and after the count is known; else for information. */
  readonly limits_ms?: readonly [counting: number, counted: number] | undefined;
};

const quick = [10, 10] as const;
const contains: ListCase = {
  what: `name_cont=${rareWord}`,
  query: [["q[name_cont]", rareWord.toUpperCase()]],
  hits: rareHits,
};

/** The serving process builds it, as it would by itself; we keep asking and writing beside it. */
async function measureIndexBuild(server: Server, ground: Ground): Promise<readonly Finding[]> {
  const { file, large, samples } = ground;
  const nextKey = createRing(large.keys);
  const [{ id } = { id: "" }] = samples;
  const started = performance.now();
  await startIndex(file, large);
  const reads = { next: () => ({ path: `/api/v1/links/${id}`, token: nextKey() }), every_ms: 5 };
  const writes = { next: createQuestions(large.keys), every_ms: 50 };
  const read = await watchWhile(server, reads, () =>
    watchWhile(server, writes, () => awaitIndex(file, large)),
  );
  const seconds = (performance.now() - started) / 1000;
  return [
    { what: "the index is built", unit: "s", value: seconds },
    { what: "GET meanwhile, p99", unit: "ms", value: read.waited.p99_ms },
    { what: "POST meanwhile, p99", unit: "ms", value: read.result.waited.p99_ms },
  ];
}

export function describeLists({ samples }: Seeded, total: number): readonly ListCase[] {
  const paths = samples.slice(0, 10).map(({ path }) => path);
  const far = Math.min(10_000, Math.floor(total / 40));
  const newest: [string, string] = ["q[s]", "created_at desc"];
  return [
    { what: "no filter, page 1", query: [], hits: total, limits_ms: quick },
    { what: "by created_at, page 1", query: [newest], hits: total, limits_ms: quick },
    {
      what: `by created_at, page ${far.toLocaleString("en")}`,
      query: [newest, ["page", String(far)]],
      hits: total,
      limits_ms: [50, 50],
    },
    { ...filtered("path_eq", paths[0] ?? ""), hits: 1 },
    { ...filtered("path_in", 10), query: paths.map((path) => ["q[path_in][]", path]), hits: 10 },
    filtered("path_start", `${rareWord}/`),
    filtered("clicks_gteq", manyClicks),
    filtered("ios_app_bundle_id_eq", rareApp),
    { ...contains, limits_ms: [60, 10] },
    ...findLast(samples.at(-1)?.path ?? ""),
    // What the issue sets no number for, but somebody will ask.
    { what: "by shortened_path, page 1", query: [["q[s]", "shortened_path asc"]] },
    informative("clicks_gteq", "1000"),
    informative("ios_app_bundle_id_eq", commonApp),
    informative("name_cont", "photo"),
    informative("name_cont", "nowhere"),
    informative("name_cont", "zy"),
  ];
}

/** One of the last links, by its destination: whole, by its end, and as one text searched for. */
function findLast(path: string): readonly ListCase[] {
  const url = `https://www.example.com/${path}`;
  const asked = { url_eq: url, url_cont: path, search: url };
  return Object.entries(asked).map(([name, value]) => {
    return { what: `f[${name}]`, query: [[`f[${name}]`, value]], limits_ms: [100, 100] };
  });
}

function filtered(what: string, value: string | number): ListCase {
  return { what, query: [[`q[${what}]`, String(value)]], hits: rareHits, limits_ms: quick };
}

function informative(what: string, value: string): ListCase {
  return { what: `${what}=${value}`, query: [[`q[${what}]`, value]] };
}

/** A large project, on whichever engine. */
type ListGround = {
  readonly large: Plot;
  readonly file: Pick<DataFile, "write">;
};

export async function measureList(
  server: Server,
  ground: ListGround,
  { what, query, hits, limits_ms }: ListCase,
): Promise<readonly Finding[]> {
  const { file, large } = ground;
  const path = `/api/v1/links?${new URLSearchParams(query).toString()}`;
  const nextKey = createRing(large.keys);
  const uncount = async () => {
    await file.write((db) => tallyWrite({ db, projectId: large.projectId }, 0));
  };
  const once = async () => {
    const { status, body } = await ask(server, { path, token: nextKey() });
    const { meta } = JSON.parse(body) as { readonly meta?: { readonly count: number } };
    if (status !== 200 || meta === undefined) throw new Error(`${what}: ${status} ${body}`);
    if (hits !== undefined && meta.count !== hits) throw new Error(`${what}: ${meta.count} hits`);
  };
  await once();
  const [counting, counted] = (limits_ms ?? []).map((most) => ({ target: { most } }));
  const first = { what, unit: "ms", value: await repeat(once, uncount), ...counting };
  // The project's own total needs no counting.
  if (!query.some(([name]) => /^[qf]\[/.test(name) && name !== "q[s]")) return [first];
  const again = { what: `${what}, counted before`, unit: "ms", value: await repeat(once) };
  return [first, { ...again, ...counted }];
}

const mostTurns = 50;
const longest_ms = 2000;

/** Does the same again and again, with something before each turn that is not measured. */
async function repeat(act: () => Promise<unknown>, before?: () => Promise<void>): Promise<number> {
  const times_ms: number[] = [];
  const started = performance.now();
  while (times_ms.length < mostTurns && performance.now() - started < longest_ms) {
    await before?.();
    const asked = performance.now();
    await act();
    times_ms.push(performance.now() - asked);
  }
  return summarizeTimes(times_ms).p50_ms;
}
