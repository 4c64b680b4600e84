import { statSync } from "node:fs";
import { sql } from "kysely";
import { addCell, writeCells, type Cells } from "../../../src/stats/cells.ts";
import { dayHours, hour_ms, writeKind, type VisitFacts } from "../../../src/stats/visit.ts";
import { insertBatch } from "../../../src/store/visit-batches.ts";
import { createKindReader, writeDay } from "../../../src/store/visit-days.ts";
import { addTotals } from "../../../src/store/visit-totals.ts";
import { makeDataFile, type DataFile } from "../ground/data-file.ts";
import { seedPlot } from "../ground/ground.ts";
import { createNamer } from "../ground/names.ts";
import { addPlot, type Plot } from "../ground/plots.ts";
import { makePostgresGround } from "../ground/postgres-ground.ts";
import { ask } from "../load/ask.ts";
import type { Finding } from "../results/finding.ts";
import { serve, type Server } from "../servers/http-server.ts";
import type { Rounds, Subject } from "./scenario.ts";

/**
 * What is told of the visits of very many links in 90 days: the most visited one has twice the
 * visits of the second, three times those of the third, and most of them few.
 */

const days = 90;
const clicksPerDay = 110_000;
/** Of the 256 that find room: a row that is full is parted. */
const linksOfRow = 200;
const today = Math.floor(Date.now() / hour_ms / dayHours);
const ways: readonly VisitFacts[] = [
  { platform: "ios", source: "address", country: "DE", referrer: "instagram.com" },
  { platform: "android", source: "address", country: "US" },
  { platform: "desktop", source: "address", country: "FR", referrer: "news.example" },
  { platform: "ios", source: "qr", country: "DE" },
  { platform: "desktop", source: "short", country: "GB", referrer: "t.co" },
];
const asked = 5;
const liveSeconds = 60;
const liveVisits = 300;

export async function* measureStatistics({ build, extent }: Subject): Rounds {
  await using file = await makeDataFile(build);
  const plot = await addPlot(file, "visited", 1);
  await seedPlot(file, plot, extent.links);
  const before = statSync(file.path).size;
  const ids = await seedVisits(file, plot);
  const bytes = statSync(file.path).size - before;
  await using server = await serve(build, file.folder);
  yield await measureAll(server, { file, plot, ids }, extent, bytes);
}

export async function* measurePostgresStatistics({ build, extent }: Subject): Rounds {
  await using ground = await makePostgresGround(build);
  const { file, folder, words } = ground;
  const plot = await ground.addPlot("visited", 1);
  await ground.seed(plot, extent.links);
  const ids = await seedVisits(file, plot);
  // As autovacuum does it a minute later.
  await sql`analyze visit_days, visit_totals`.execute(file.db);
  const { rows } = await sql<{ readonly bytes: string }>`
    select pg_total_relation_size('visit_days') + pg_total_relation_size('visit_totals') as bytes
  `.execute(file.db);
  await using server = await serve(build, folder, words);
  yield await measureAll(server, { file, plot, ids }, extent, Number(rows[0]?.bytes));
}

type Ground = {
  readonly file: VisitedFile;
  readonly plot: Plot;
  readonly ids: readonly string[];
};

async function measureAll(
  server: Server,
  ground: Ground,
  { links }: Subject["extent"],
  bytes: number,
): Promise<readonly Finding[]> {
  const from = new Date((today - days + 1) * dayHours * hour_ms).toISOString().slice(0, 10);
  const measure = (query: string, prepare?: () => Promise<void>) =>
    measureOne(server, ground.plot, `from=${from}&${query}`, prepare);
  const addLive = () => addWaiting(ground);
  const millions = (days * clicksPerDay) / 1e6;
  return [
    {
      what: `a project's sums of ${days} days, ${links.toLocaleString("en")} links`,
      unit: "ms",
      value: await measure("by=day"),
      target: { most: 50 },
    },
    { what: "by=referrer", unit: "ms", value: await measure("by=referrer"), target: { most: 50 } },
    {
      what: `the same while a minute's ${liveVisits} visits wait`,
      unit: "ms",
      value: await measure("by=day", addLive),
      target: { most: 50 },
    },
    {
      what: "by=referrer while they wait",
      unit: "ms",
      value: await measure("by=referrer", addLive),
      target: { most: 50 },
    },
    { what: "by=link", unit: "ms", value: await measure("by=link"), target: { most: 500 } },
    { what: "by=link while they wait", unit: "ms", value: await measure("by=link", addLive) },
    {
      what: "by=day, of the links with many clicks",
      unit: "ms",
      value: await measure("by=day&q[clicks_gteq]=50000"),
    },
    {
      what: "by=link, of all links by a filter",
      unit: "ms",
      value: await measure("by=link&q[clicks_gteq]=0"),
    },
    {
      what: "by=referrer, of all links by a filter",
      unit: "ms",
      value: await measure("by=referrer&q[clicks_gteq]=0"),
    },
    { what: "disk for a million clicks", unit: "MB", value: bytes / 1e6 / millions },
  ];
}

type VisitedFile = Pick<DataFile, "db" | "write">;

/** What processes have written down in the last minute, and nobody has put together. */
async function addWaiting({ file, plot: { projectId }, ids }: Ground): Promise<void> {
  const [facts] = ways;
  if (facts === undefined) throw new Error("there is none");
  const kind = writeKind("click", today * dayHours * hour_ms, facts);
  await file.write(async (db) => {
    await db.deleteFrom("visit_batches").where("project_id", "=", projectId).execute();
    for (let second = 0; second < liveSeconds; second += 1) {
      const cells: Cells = new Map();
      for (let visit = 0; visit < liveVisits / liveSeconds; visit += 1) {
        const id = ids[Math.floor(Math.random() * ids.length)] ?? "";
        addCell(cells, id, kind, 1);
      }
      await insertBatch({ db, projectId }, 0, writeCells(cells));
    }
  });
}

/** Answers the links' ids. */
async function seedVisits(file: VisitedFile, { projectId }: Plot): Promise<readonly string[]> {
  const ids = await readIds(file, projectId);
  const { share } = createNamer();
  const read = createKindReader();
  // Their places by age say nothing of how often they are visited.
  const popular = ids.toSorted(() => share() - 0.5);
  for (let day = today - days + 1; day <= today; day += 1) {
    const cells: Cells = new Map();
    for (let click = 0; click < clicksPerDay; click += 1) {
      const place = Math.floor(Math.exp(share() * Math.log(ids.length)));
      const facts = ways[Math.floor(share() * ways.length)] ?? ways[0];
      const at = (day * dayHours + Math.floor(share() * dayHours)) * hour_ms;
      if (facts) addCell(cells, popular[place] ?? "", writeKind("click", at, facts), 1);
    }
    const rows = [...cells].toSorted(([one], [other]) => (one < other ? -1 : 1));
    await file.write(async (db) => {
      for (let start = 0; start < rows.length; start += linksOfRow) {
        const own = writeDay(rows.slice(start, start + linksOfRow), read);
        const row = { project_id: projectId, day, hourly: 1, ...own } as const;
        await db.insertInto("visit_days").values(row).execute();
      }
      const totals: Cells = new Map();
      addTotals(totals, cells, read);
      const body = writeCells(totals);
      const row = { project_id: projectId, day, hourly: 1, body } as const;
      await db.insertInto("visit_totals").values(row).execute();
    });
  }
  return ids;
}

async function readIds({ db }: VisitedFile, projectId: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom("links")
    .select("id")
    .where("project_id", "=", projectId)
    .execute();
  return rows.map(({ id }) => id);
}

/** The middle one of some, after one for the compiler. */
async function measureOne(
  server: Server,
  { keys }: Plot,
  query: string,
  prepare?: () => Promise<void>,
): Promise<number> {
  const [token = ""] = keys;
  const times: number[] = [];
  for (let turn = 0; turn <= asked; turn += 1) {
    await prepare?.();
    const started = performance.now();
    const { status, body } = await ask(server, { path: `/api/v1/link_stats?${query}`, token });
    if (status !== 200) throw new Error(`link_stats answered ${status}: ${body.slice(0, 200)}`);
    if (turn > 0) times.push(performance.now() - started);
  }
  return times.toSorted((one, other) => one - other)[Math.floor(asked / 2)] ?? Number.NaN;
}
