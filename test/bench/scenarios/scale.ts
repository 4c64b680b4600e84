import { makeDataFile } from "../ground/data-file.ts";
import { addPlot, type Plot } from "../ground/plots.ts";
import { makePostgresStore } from "../ground/postgres-store.ts";
import { seedPlot, type Seeded } from "../ground/seed.ts";
import { ask } from "../load/ask.ts";
import { fire } from "../load/fire.ts";
import { askModern } from "../load/http-tools.ts";
import { summarize, summarizeTimes } from "../load/measure.ts";
import type { Finding } from "../results/finding.ts";
import { createRing } from "../ring.ts";
import { serve, type Server } from "../servers/http-server.ts";
import { measureEachList } from "./lists.ts";
import { createVisit } from "./redirects.ts";
import type { Extent, Rounds, Subject } from "./scenario.ts";

/** A very large project on PostgreSQL, and the memory of a server after a million tool calls. */

export async function* measureScale({ extent }: Subject): Rounds {
  yield [...(await measurePostgres(extent)), ...(await measureCalls(extent))];
}

async function measurePostgres(extent: Extent): Promise<readonly Finding[]> {
  await using store = await makePostgresStore();
  const plot = await addPlot(store, "large");
  const { samples } = await seedPlot(store, plot, extent.links);
  await using server = await serve(store.folder, store.words);
  return [
    ...(await measureRedirects(server, plot, samples, extent)),
    ...(await measureEachList(server, { access: store, plot, samples })),
  ];
}

/** The first visit of a link reads it from the database, later visits do not. */
async function measureRedirects(
  server: Server,
  { subdomain }: Plot,
  samples: Seeded["samples"],
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

/** The memory of a server after very many tool calls. */
async function measureCalls({ calls }: Extent): Promise<readonly Finding[]> {
  await using file = await makeDataFile();
  const { keys } = await addPlot(file, "calls");
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
