import { setTimeout } from "node:timers/promises";
import { createIndex, dropIndex, wholeIndex } from "../../../src/store/trigram-index.ts";
import { readTally, tallyWrite } from "../../../src/store/projects.ts";
import type { Access } from "../data/data-file.ts";
import type { BenchFolder } from "../data/bench-folder.ts";
import type { BenchProject } from "../data/bench-project.ts";
import { manyClicks, rareHits, rareWord, type SeededLinks } from "../data/seed.ts";
import { ask } from "../load/ask.ts";
import { summarizeTimes } from "../load/measure.ts";
import type { Finding } from "../results/finding.ts";
import { createRing } from "../ring.ts";
import { serveStore, type Server } from "../servers/http-server.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** Lists of a very large project with an index. A write before each makes its count unknown. */

export async function* measureLists({ findBenchFolder }: Subject): Rounds {
  const benchFolder = await findBenchFolder();
  const { file, large } = benchFolder;
  await using server = await serveStore(file);
  const seconds = await measureIndexBuild(benchFolder);
  yield [
    { what: "the index is built", unit: "s", value: seconds },
    ...(await measureEachList(server, { ...benchFolder, access: file, project: large })),
  ];
}

/** The server builds the index as for any project that has grown. */
async function measureIndexBuild({ file, large }: BenchFolder): Promise<number> {
  const { projectId } = large;
  const started = performance.now();
  await file.write(async (db) => {
    await dropIndex(db, projectId);
    await createIndex({ db, projectId });
  });
  const isBuilt = async () =>
    (await readTally({ db: file.db, projectId })).indexed_to === wholeIndex;
  while (!(await isBuilt())) await setTimeout(100);
  return (performance.now() - started) / 1000;
}

type Project = SeededLinks & { readonly access: Access; readonly project: BenchProject };

export async function measureEachList(
  server: Server,
  listed: Project,
): Promise<readonly Finding[]> {
  const { projectId } = listed.project;
  const { links } = await readTally({ db: listed.access.db, projectId });
  const findings: Finding[] = [];
  for (const list of describeLists(listed, links)) {
    findings.push(await measureList(server, listed, list));
  }
  return findings;
}

type ListCase = {
  readonly what: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly hits?: number;
  readonly most: number;
};

const quick = 10;

function describeLists({ samples }: SeededLinks, total: number): readonly ListCase[] {
  const paths = samples.slice(0, 10).map(({ path }) => path);
  const far = Math.min(10_000, Math.floor(total / 40));
  const newest = ["q[s]", "created_at desc"] as const;
  const last = samples.at(-1)?.path ?? "";
  return [
    { what: "no filter, page 1", query: [], hits: total, most: quick },
    { what: "by created_at, page 1", query: [newest], hits: total, most: quick },
    {
      what: `by created_at, page ${far.toLocaleString("en")}`,
      query: [newest, ["page", String(far)]],
      hits: total,
      most: 50,
    },
    { ...filtered("path_eq", paths[0] ?? ""), hits: 1 },
    { ...filtered("path_in", 10), query: paths.map((path) => ["q[path_in][]", path]), hits: 10 },
    filtered("path_start", `${rareWord}/`),
    filtered("clicks_gteq", manyClicks),
    { ...filtered("name_cont", rareWord.toUpperCase()), most: 60 },
    { what: "f[url_cont]", query: [["f[url_cont]", last]], most: 100 },
    { what: "f[search]", query: [["f[search]", last]], most: 100 },
  ];
}

function filtered(what: string, value: string | number): ListCase {
  return { what, query: [[`q[${what}]`, String(value)]], hits: rareHits, most: quick };
}

async function measureList(
  server: Server,
  { access, project }: Project,
  { what, query, hits, most }: ListCase,
): Promise<Finding> {
  const pairs = query.map(([name, value]): [string, string] => [name, value]);
  const path = `/api/v1/links?${new URLSearchParams(pairs).toString()}`;
  const nextKey = createRing(project.keys);
  const uncount = async () => {
    await access.write((db) => tallyWrite({ db, projectId: project.projectId }, 0));
  };
  const once = async () => {
    const { status, body } = await ask(server, { path, token: nextKey() });
    const { meta } = JSON.parse(body) as { readonly meta?: { readonly count: number } };
    if (status !== 200 || meta === undefined) throw new Error(`${what}: ${status} ${body}`);
    if (hits !== undefined && meta.count !== hits) throw new Error(`${what}: ${meta.count} hits`);
  };
  await once();
  return { what, unit: "ms", value: await repeat(once, uncount), target: { most } };
}

const mostTurns = 50;
const longest_ms = 2000;

/** Repeats an action. `before` runs before each time, and is not measured. */
async function repeat(act: () => Promise<void>, before: () => Promise<void>): Promise<number> {
  const times_ms: number[] = [];
  const started = performance.now();
  while (times_ms.length < mostTurns && performance.now() - started < longest_ms) {
    await before();
    const asked = performance.now();
    await act();
    times_ms.push(performance.now() - asked);
  }
  return summarizeTimes(times_ms).p50_ms;
}
