import { encodePath } from "../../../src/contract/rules/link-path.ts";
import { visitedLinks, type Ground } from "../ground/ground.ts";
import { createNamer } from "../ground/names.ts";
import type { Question } from "../load/ask.ts";
import { openBeside } from "../load/beside.ts";
import { fire } from "../load/fire.ts";
import { summarize } from "../load/measure.ts";
import { noDearer } from "../results/finding.ts";
import { createRing } from "../ring.ts";
import { serve, type Server } from "../servers/http-server.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** Visits of a project with 100,000 links: counted redirects, and the page before an app. */

const desktop =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) " +
  "Chrome/121.0.0.0 Safari/537.36";
const iPhone =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 17_3_1 like Mac OS X) AppleWebKit/605.1.15 " +
  "(KHTML, like Gecko) Version/17.3.1 Mobile/15E148 Safari/604.1";

export const redirectsPerSecond = 5000;
const pagesPerSecond = 1000;

export async function* measureRedirects({ build, extent, findGround }: Subject): Rounds {
  const ground = await findGround();
  await using server = await serve(build, ground.file.folder);
  const { first, rows, visit } = await readVisits(server, ground);
  const popular = createPopularity(Array.from({ length: knownLinks }, () => pick(rows)));
  const { seconds, warming } = extent;
  const requests = redirectsPerSecond * seconds;
  const visitPopular = { requests, status: 302, questions: () => visit(popular().path, desktop) };
  const visitAll = { requests, status: 302, questions: () => visit(pick(rows).path, desktop) };
  const withPage = rows.filter(
    (row) => row.ios_app_id !== null && row.enable_forced_redirect === 0,
  );
  const visitPages = { status: 200, questions: () => visit(pick(withPage).path, iPhone) };
  await fire(server, { ...visitPages, requests: Math.round(warming / 4) });
  await using beside = await openBeside(server, visit(first.path, desktop), {
    ...visitPopular,
    requests: warming,
  });
  for (;;) {
    const { ours, bare } = await beside.measure(visitPopular);
    const alike = summarize(await fire(server, visitAll));
    const pages = summarize(
      await fire(server, { ...visitPages, requests: pagesPerSecond * seconds }),
    );
    yield [
      {
        what: "the 1,000 links in the news, CPU",
        unit: "µs",
        value: ours.cpu_us,
        target: { most: 100, ...noDearer },
      },
      {
        what: "the 1,000 links in the news, CPU of node:http",
        unit: "times",
        value: ours.cpu_us / bare.cpu_us,
      },
      {
        what: "rate of node:http to ours",
        unit: "times",
        value: bare.per_second / ours.per_second,
        target: { most: 2 },
      },
      { what: "of a core: the server", unit: "%", value: ours.share_percent },
      { what: "of a core: node:http", unit: "%", value: bare.share_percent },
      {
        what: "all 100,000 links alike, CPU",
        unit: "µs",
        value: alike.cpu_us,
        target: { most: 100 },
      },
      {
        what: "all 100,000 links alike, of the rate of node:http by CPU",
        unit: "times",
        value: bare.cpu_us / alike.cpu_us,
        target: { least: 0.5 },
      },
      {
        what: "preview page, default design, CPU",
        unit: "µs",
        value: pages.cpu_us,
        target: { most: 1000 },
      },
    ];
  }
}

/** A program that a person runs is led where they are, and is counted nowhere. */
const tool = "curl/8.5.0";

/**
 * What it costs to count visits of very many links: each was visited before, so that nothing is
 * read, and the same visits are made by people and by what is not counted.
 */
export async function* measureCounting({ build, extent, findGround }: Subject): Rounds {
  const ground = await findGround();
  await using server = await serve(build, ground.file.folder);
  const { first, rows, visit } = await readVisits(server, ground);
  const each = createRing(rows.map(({ path }) => visit(path, tool)));
  await fire(server, { requests: rows.length, status: 302, questions: each });
  const requests = redirectsPerSecond * extent.seconds;
  const visitAs = (agent: string) => {
    return { requests, status: 302, questions: () => visit(pick(rows).path, agent) };
  };
  await using beside = await openBeside(server, visit(first.path, desktop), {
    ...visitAs(desktop),
    requests: extent.warming,
  });
  for (;;) {
    const { ours, bare } = await beside.measure(visitAs(desktop));
    const uncounted = summarize(await fire(server, visitAs(tool)));
    yield [
      { what: "all 100,000 links alike, visited before, CPU", unit: "µs", value: ours.cpu_us },
      {
        what: "of the rate of node:http by CPU",
        unit: "times",
        value: bare.cpu_us / ours.cpu_us,
        target: { least: 0.5 },
      },
      {
        what: "of the rate of node:http by CPU, not counted",
        unit: "times",
        value: bare.cpu_us / uncounted.cpu_us,
      },
      {
        what: "CPU of those that are not counted",
        unit: "times",
        value: ours.cpu_us / uncounted.cpu_us,
      },
    ];
  }
}

/** People on all links, each of which was visited before: what is kept of them is full. */
export async function* measureMemory({ build, extent, findGround }: Subject): Rounds {
  const ground = await findGround();
  await using server = await serve(build, ground.file.folder);
  const { rows, visit } = await readVisits(server, ground);
  const each = rows.map(({ path }) => visit(path, desktop));
  await fire(server, { requests: rows.length, status: 302, questions: createRing(each) });
  const before = await server.readMemory_mb();
  const questions = () => pick(each);
  await fire(server, { requests: extent.visits, status: 302, questions });
  const after = await server.readMemory_mb();
  const visits = extent.visits.toLocaleString("en");
  yield [
    { what: "held when all links were visited", unit: "MB", value: before },
    {
      what: `after ${visits} more visits`,
      unit: "times",
      value: after / before,
      target: { most: 1.05 },
    },
  ];
}

async function readVisits(server: Server, ground: Ground) {
  const rows = await readLinks(ground);
  const [first] = rows;
  if (first === undefined) throw new Error("there is no link to visit");
  return { rows, first, visit: createVisit(server, ground.visited.subdomain) };
}

export function createVisit(
  { url }: Server,
  subdomain: string,
): (path: string, agent?: string) => Question {
  const host = `${subdomain}.localhost:${new URL(url).port}`;
  return (path, agent = desktop) => ({
    path: `/${encodePath(path)}`,
    headers: { host, "user-agent": agent, referer: "https://news.example/today" },
  });
}

type LinkRow = {
  readonly path: string;
  readonly ios_app_id: string | null;
  readonly enable_forced_redirect: 0 | 1;
};

function readLinks({ file, visited }: Ground): Promise<readonly LinkRow[]> {
  return file.db
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
export function createPopularity<Item>(items: readonly Item[]): () => Item {
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
