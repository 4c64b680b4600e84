import { setTimeout } from "node:timers/promises";
import { encodePath } from "../../../src/contract/rules/link-path.ts";
import { visitedLinks, type BenchFolder } from "../data/bench-folder.ts";
import { createNamer } from "../data/names.ts";
import type { Question } from "../load/ask.ts";
import { openBeside } from "../load/beside.ts";
import { fire } from "../load/fire.ts";
import { summarize } from "../load/measure.ts";
import { serveStore, type Server } from "../servers/http-server.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** Counted redirects of a project with 100,000 links, compared with a bare `node:http` server. */

const redirectsPerSecond = 5000;
const popularLinks = 1000;

export async function* measureRedirects({ extent, findBenchFolder }: Subject): Rounds {
  const benchFolder = await findBenchFolder();
  await using server = await serveStore(benchFolder.file);
  const paths = await readPaths(benchFolder);
  const { pick, pickPopular } = createNamer();
  const popular = Array.from({ length: popularLinks }, () => pick(paths));
  const visit = createVisit(server, benchFolder.visited.subdomain);
  const requests = redirectsPerSecond * extent.seconds;
  const visitPopular = { requests, status: 302, questions: () => visit(pickPopular(popular)) };
  const visitAll = { requests, status: 302, questions: () => visit(pick(paths)) };
  await using beside = await openBeside(server, visit(pickPopular(popular)), {
    ...visitPopular,
    requests: extent.warming,
  });
  await untilIdle(server);
  for (;;) {
    const { ours, bare } = await beside.measure(visitPopular);
    const popularWrites_us = await untilIdle(server);
    const alike = summarize(await fire(server, visitAll));
    const alikeWrites_us = await untilIdle(server);
    yield [
      {
        what: "1,000 popular links, CPU",
        unit: "µs",
        value: ours.cpu_us + popularWrites_us / requests,
        target: { most: 20 },
      },
      {
        what: "1,000 popular links, rate of node:http",
        unit: "times",
        value: ours.per_second / bare.per_second,
        target: { least: 0.6 },
      },
      { what: "of a core: the server", unit: "%", value: ours.share_percent },
      { what: "of a core: node:http", unit: "%", value: bare.share_percent },
      {
        what: "100,000 links alike, CPU",
        unit: "µs",
        value: alike.cpu_us + alikeWrites_us / requests,
      },
      {
        what: "100,000 links alike, rate of node:http",
        unit: "times",
        value: alike.per_second / bare.per_second,
        target: { least: 0.2 },
      },
    ];
  }
}

const flushInterval_ms = 1000;

/** Waits until the visits are stored. Returns the processor time for that. */
async function untilIdle({ readCpu_us }: Server): Promise<number> {
  const start_us = readCpu_us();
  for (;;) {
    const before_us = readCpu_us();
    await setTimeout(1.2 * flushInterval_ms);
    if (readCpu_us() - before_us < mostIdleCpu_us) return readCpu_us() - start_us;
  }
}

/** The processor time that an idle server uses in that period. */
const mostIdleCpu_us = 10_000;

const desktop =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) " +
  "Chrome/121.0.0.0 Safari/537.36";

/** A visit from a desktop computer, which is redirected and counted. */
export function createVisit(
  { url }: { readonly url: string },
  subdomain: string,
): (path: string) => Question {
  const host = `${subdomain}.localhost:${new URL(url).port}`;
  return (path) => ({
    path: `/${encodePath(path)}`,
    headers: { host, "user-agent": desktop, referer: "https://news.example/today" },
  });
}

async function readPaths({ file, visited }: BenchFolder): Promise<readonly string[]> {
  const rows = await file.db
    .selectFrom("links")
    .select("path")
    .where("project_id", "=", visited.projectId)
    .limit(visitedLinks)
    .execute();
  return rows.map(({ path }) => path);
}
