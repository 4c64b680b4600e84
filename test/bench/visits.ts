import { encodePath } from "../../src/contract/rules/link-path.ts";
import { measureBeside } from "./beside.ts";
import { visitedLinks, type Ground } from "./ground.ts";
import { fire, type Question, type Server } from "./http.ts";
import { summarize } from "./measure.ts";
import { createNamer } from "./names.ts";
import type { Row } from "./table.ts";

/** Visits of a project with 100,000 links: counted redirects, and the page before an app. */

const desktop =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) " +
  "Chrome/121.0.0.0 Safari/537.36";
const iPhone =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_3_1 like Mac OS X) AppleWebKit/605.1.15 " +
  "(KHTML, like Gecko) Version/17.3.1 Mobile/15E148 Safari/604.1";

export type VisitsWanted = {
  readonly seconds: number;
  /** Over how many the memory is watched. */
  readonly visits: number;
};

export async function measureVisits(
  waypost: Server,
  ground: Ground,
  { seconds, visits }: VisitsWanted,
): Promise<readonly Row[]> {
  const rows = await readLinks(ground);
  const visit = createVisit(waypost);
  const known = Array.from({ length: knownLinks }, () => pick(rows));
  const popular = createPopularity(known);
  const [first] = rows;
  if (first === undefined) throw new Error("there is no link to visit");
  const example = visit(first.path, desktop);
  const redirects = { seconds, status: 302 };

  const questions = () => visit(popular().path, desktop);
  const { ours, theirs } = await measureBeside(waypost, example, { ...redirects, questions });
  const alike = await measureBeside(waypost, example, {
    ...redirects,
    questions: () => visit(pick(rows).path, desktop),
  });
  return [
    { what: "bare node:http 302, the same bytes", figures: theirs, ratio: 1 },
    {
      what: "counted redirect, the 1,000 links in the news",
      figures: ours,
      ratio: ours.cpu_us / theirs.cpu_us,
      target: { measure: "cpu_us", limit: 100 },
    },
    {
      what: "the same: the bare one's rate to it",
      figures: ours,
      ratio: (theirs.per_second ?? Number.NaN) / (ours.per_second ?? Number.NaN),
      target: { measure: "ratio", limit: 2 },
    },
    {
      what: "counted redirect, all 100,000 links alike",
      figures: alike.ours,
      ratio: alike.ours.cpu_us / alike.theirs.cpu_us,
      target: { measure: "cpu_us", limit: 100 },
    },
    await measurePages(waypost, rows, seconds),
    await measureMemory(waypost, rows, visits),
  ];
}

type LinkRow = {
  readonly path: string;
  readonly ios_app_id: string | null;
  readonly enable_forced_redirect: 0 | 1;
};

async function measurePages(
  waypost: Server,
  rows: readonly LinkRow[],
  seconds: number,
): Promise<Row> {
  const visit = createVisit(waypost);
  const withPage = rows.filter(
    (row) => row.ios_app_id !== null && row.enable_forced_redirect === 0,
  );
  const questions = () => visit(pick(withPage).path, iPhone);
  const barrage = { seconds, status: 200, questions };
  await fire(waypost, barrage);
  return {
    what: "preview page, default design",
    figures: summarize(await fire(waypost, { ...barrage, seconds: 3 * seconds })),
    target: { measure: "cpu_us", limit: 1000 },
  };
}

/** People on all links, each of which was visited before: what is kept of them is full. */
async function measureMemory(
  waypost: Server,
  rows: readonly LinkRow[],
  visits: number,
): Promise<Row> {
  const visit = createVisit(waypost);
  const questions = () => visit(pick(rows).path, desktop);
  let turn = 0;
  const each = () => visit((rows[turn++ % rows.length] ?? pick(rows)).path, desktop);
  await fire(waypost, { requests: rows.length, status: 302, questions: each });
  const before = await waypost.readMemory_mb();
  const sample = await fire(waypost, { requests: visits, status: 302, questions });
  const after = await waypost.readMemory_mb();
  const held = `${before.toFixed(1)} to ${after.toFixed(1)} MB`;
  return {
    what: `memory over ${visits.toLocaleString("en")} visits: ${held}`,
    figures: summarize(sample),
    ratio: after / before,
    target: { measure: "ratio", limit: 1.05 },
  };
}

function createVisit({ url }: Server): (path: string, agent: string) => Question {
  const host = `visited.localhost:${new URL(url).port}`;
  return (path, agent) => ({
    path: `/${encodePath(path)}`,
    headers: { host, "user-agent": agent },
  });
}

function readLinks({ store, visited }: Ground): Promise<readonly LinkRow[]> {
  return store.db
    .selectFrom("links")
    .select(["path", "ios_app_id", "enable_forced_redirect"])
    .where("project_id", "=", visited.projectId)
    .limit(visitedLinks)
    .execute();
}

const { pick, share } = createNamer();

/** So many of the project's links are talked about at a time; the others rest. */
const knownLinks = 1000;

/** The most visited link has twice the visits of the second, three times those of the third. */
function createPopularity<Item>(items: readonly Item[]): () => Item {
  let total = 0;
  const sums = Float64Array.from(items, (_, index) => (total += 1 / (index + 1)));
  return () => {
    const wanted = share() * total;
    let [low, high] = [0, sums.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    const item = items[low];
    if (item === undefined) throw new Error("there is nothing to pick");
    return item;
  };
}
