import { makeDataFile } from "../data/data-file.ts";
import { addBenchProject, type BenchProject } from "../data/bench-project.ts";
import { makePostgresStore } from "../data/postgres-store.ts";
import { seedProject, type SeededLinks } from "../data/seed.ts";
import { ask } from "../load/ask.ts";
import { fire } from "../load/fire.ts";
import { askModern } from "../load/http-tools.ts";
import { summarize, summarizeTimes } from "../load/measure.ts";
import type { Finding } from "../results/finding.ts";
import { createRing } from "../ring.ts";
import { serve, serveStore, type Server } from "../servers/http-server.ts";
import { measureEachList } from "./lists.ts";
import { createVisit } from "./redirects.ts";
import type { Extent, Rounds, Subject } from "./scenario.ts";

/** A very large project on PostgreSQL, and the memory of a server after a million tool calls. */

export async function* measureScale({ extent }: Subject): Rounds {
  yield [...(await measurePostgres(extent)), ...(await measureCalls(extent))];
}

async function measurePostgres(extent: Extent): Promise<readonly Finding[]> {
  await using store = await makePostgresStore();
  const project = await addBenchProject(store, "large");
  const { samples } = await seedProject(store, project, extent.links);
  await using server = await serveStore(store);
  return [
    ...(await measureRedirects(server, project, samples, extent)),
    ...(await measureEachList(server, { access: store, project, samples })),
  ];
}

/** The first visit of a link reads it from the database, later visits do not. */
async function measureRedirects(
  server: Server,
  { subdomain }: BenchProject,
  samples: SeededLinks["samples"],
  { seconds }: Extent,
): Promise<readonly Finding[]> {
  const visits = samples.map(({ path }) => createVisit(server, subdomain)(path));
  const times_ms: number[] = [];
  for (const visit of visits) {
    const started = performance.now();
    const { status } = await ask(server, visit);
    if (status !== 302) throw new Error(`a visit was answered with ${status}`);
    times_ms.push(performance.now() - started);
  }
  const barrage = { requests: 5000 * seconds, status: 302, questions: visits };
  await fire(server, barrage);
  const { cpu_us } = summarize(await fire(server, barrage));
  const { p50_ms } = summarizeTimes(times_ms);
  return [
    { what: "PostgreSQL: a first redirect, p50", unit: "ms", value: p50_ms, target: { most: 3 } },
    { what: "PostgreSQL: a redirect from cache, CPU", unit: "µs", value: cpu_us },
  ];
}

async function measureCalls({ calls }: Extent): Promise<readonly Finding[]> {
  await using file = await makeDataFile();
  const { keys } = await addBenchProject(file, "calls");
  await using server = await serve(file.folder);
  const [first = ""] = keys;
  const link = { path: "spring", url: "https://www.example.com/spring" };
  await askModern(server, first).ask("tools/call", { name: "create_link", arguments: link });
  const params = { name: "get_link", arguments: { id: link.path } };
  const nextKey = createRing(keys);
  const questions = () => askModern(server, nextKey()).write("tools/call", params);
  const call = async (requests: number) => {
    await fire(server, { connections: 32, requests, status: 200, questions });
    return server.readResident_mb();
  };
  const before = await call(Math.ceil(calls / 10));
  const after = await call(Math.ceil(0.9 * calls));
  const what = `after ${calls.toLocaleString("en")} calls`;
  return [
    { what: `${what}, resident`, unit: "MB", value: after },
    { what: `${what}, of that after a tenth of them`, unit: "times", value: after / before },
    {
      what: `${what}, resident at its highest`,
      unit: "MB",
      value: server.readPeak_mb(),
      target: { most: 512 },
    },
  ];
}
