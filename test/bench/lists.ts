import { tallyWrite } from "../../src/store/project-tallies.ts";
import { commonApp, rareApp, type Ground } from "./ground.ts";
import { ask, type Server } from "./http.ts";
import { summarize, type Figures } from "./measure.ts";
import { manyClicks, rareHits, rareWord } from "./seed.ts";
import type { Row } from "./table.ts";

/**
 * Lists of a very large project, one request after the other: as after a write, when nobody has
 * counted yet, and again when the count is known.
 */

type ListCase = {
  readonly what: string;
  readonly query: [name: string, value: string][];
  /** What `meta.count` must be, where we know. */
  readonly hits?: number;
  /** The longest p50 that is allowed before and after the count is known; else for information. */
  readonly limits_ms?: readonly [counting: number, counted: number];
};

const quick = [10, 10] as const;
const contains: ListCase = {
  what: `name_cont=${rareWord}`,
  query: [["q[name_cont]", rareWord.toUpperCase()]],
  hits: rareHits,
};

/** `cont` while every name must be looked at. */
export function measureScan(waypost: Server, ground: Ground): Promise<readonly Row[]> {
  return measureList(waypost, ground, { ...contains, what: `${contains.what}, no index` });
}

export async function measureLists(
  waypost: Server,
  ground: Ground,
  total: number,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const list of describeLists(ground, total)) {
    rows.push(...(await measureList(waypost, ground, list)));
  }
  return rows;
}

function describeLists({ samples }: Ground, total: number): readonly ListCase[] {
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

async function measureList(
  waypost: Server,
  ground: Ground,
  { what, query, hits, limits_ms }: ListCase,
): Promise<readonly Row[]> {
  const path = `/api/v1/links?${new URLSearchParams(query).toString()}`;
  const uncount = async () => {
    const { projectId } = ground.large;
    await ground.store.write((db) => tallyWrite({ db, projectId }, 0));
  };
  const [token = ""] = ground.large.keys;
  const once = async () => {
    const { status, body } = await ask(waypost, { path, token });
    const { meta } = JSON.parse(body) as { readonly meta?: { readonly count: number } };
    if (status !== 200 || meta === undefined) throw new Error(`${what}: ${status} ${body}`);
    if (hits !== undefined && meta.count !== hits) throw new Error(`${what}: ${meta.count} hits`);
    return meta.count;
  };
  const found = await once();
  const [counting, counted] = (limits_ms ?? []).map((limit) => {
    return { target: { measure: "p50_ms", limit } } as const;
  });
  const first = { what, hits: found, figures: await repeat(waypost, once, uncount), ...counting };
  // The project's own total needs no counting.
  if (!query.some(([name]) => name.startsWith("q[") && name !== "q[s]")) return [first];
  const again = { what: "  counted before", figures: await repeat(waypost, once), ...counted };
  return [first, again];
}

const mostTurns = 100;
const longest_ms = 10_000;

/** Does the same again and again, with something before each turn that is not measured. */
async function repeat(
  server: Server,
  act: () => Promise<unknown>,
  before?: () => Promise<void>,
): Promise<Figures> {
  const times_ms: number[] = [];
  const cpuBefore_us = await server.readCpu_us();
  const started = performance.now();
  while (times_ms.length < mostTurns && performance.now() - started < longest_ms) {
    await before?.();
    const asked = performance.now();
    await act();
    times_ms.push(performance.now() - asked);
  }
  return summarize({ times_ms, cpu_us: (await server.readCpu_us()) - cpuBefore_us });
}
