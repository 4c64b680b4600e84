import { statSync } from "node:fs";
import { sql } from "kysely";
import {
  compareLinks,
  dayHours,
  describeVisit,
  hour_ms,
  type VisitFacts,
  type VisitKind,
} from "../../../src/stats/visit.ts";
import { countVisits } from "../../../src/store/visit-counts.ts";
import { makeDataFile, type Access } from "../data/data-file.ts";
import { createNamer, type Namer } from "../data/names.ts";
import { addBenchProject, type BenchProject } from "../data/bench-project.ts";
import { makePostgresStore } from "../data/postgres-store.ts";
import { seedProject } from "../data/seed.ts";
import { ask } from "../load/ask.ts";
import { findMedian, type Finding } from "../results/finding.ts";
import { serve, serveStore, type Server } from "../servers/http-server.ts";
import type { Rounds } from "./scenario.ts";

/** link_stats of a project after 90 days of visits, on SQLite and PostgreSQL. */

const links = 100_000;
const days = 90;
const clicksPerDay = 110_000;
const linksAtOnce = 5000;
const today = Math.floor(Date.now() / hour_ms / dayHours);
const countries = Array.from({ length: 60 }, (_, at) => {
  return String.fromCharCode(65 + Math.floor(at / 26), 65 + (at % 26));
});
const referrers = Array.from({ length: 500 }, (_, at) => `site-${at}.example`);
const asked = 5;

export async function* measureStatistics(): Rounds {
  yield [...(await measureSqlite()), ...(await measurePostgres())];
}

async function measureSqlite(): Promise<readonly Finding[]> {
  await using file = await makeDataFile();
  const project = await addBenchProject(file, "visited", 1);
  await seedProject(file, project, links);
  const before = statSync(file.path).size;
  await seedVisits(file, project);
  const bytes = statSync(file.path).size - before;
  await using server = await serve(file.folder);
  return await measureAll("SQLite", server, project, bytes);
}

async function measurePostgres(): Promise<readonly Finding[]> {
  await using store = await makePostgresStore();
  const project = await addBenchProject(store, "visited", 1);
  await seedProject(store, project, links);
  await seedVisits(store, project);
  // Autovacuum would do this a minute later.
  await sql`vacuum analyze visit_counts`.execute(store.db);
  const { rows } = await sql<{ readonly bytes: string }>`
    select pg_total_relation_size('visit_counts') as bytes
  `.execute(store.db);
  await using server = await serveStore(store);
  return await measureAll("PostgreSQL", server, project, Number(rows[0]?.bytes));
}

async function measureAll(
  engine: string,
  server: Server,
  project: BenchProject,
  bytes: number,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const [by, most] of Object.entries({ day: 50, country: 50, referrer: 50, link: 1000 })) {
    const value = await measureOne(server, project, by);
    findings.push({ what: `${engine}: by ${by}`, unit: "ms", value, target: { most } });
  }
  const millions = (days * clicksPerDay) / 1e6;
  const value = bytes / 1e6 / millions;
  return [...findings, { what: `${engine}: disk for a million clicks`, unit: "MB", value }];
}

async function seedVisits(file: Access, { projectId }: BenchProject): Promise<void> {
  const rows = await file.db
    .selectFrom("links")
    .select("id")
    .where("project_id", "=", projectId)
    .execute();
  const namer = createNamer();
  // Popular links are chosen at random, so that a link's age has no influence.
  const popular = rows.map(({ id }) => id).toSorted(() => namer.share() - 0.5);
  for (let day = today - days + 1; day <= today; day += 1) {
    // One statement per day: the hour makes no difference to the measurement.
    const at = (day * dayHours + 12) * hour_ms;
    const kindsOf = new Map<string, Map<string, { readonly kind: VisitKind; count: number }>>();
    for (let click = 0; click < clicksPerDay; click += 1) {
      const linkId = namer.pickPopular(popular);
      const kinds =
        kindsOf.get(linkId) ?? new Map<string, { readonly kind: VisitKind; count: number }>();
      kindsOf.set(linkId, kinds);
      const kind = describeVisit({ projectId, what: "click", at, ...pickFacts(namer) });
      const known = kinds.get(kind.key);
      if (known === undefined) kinds.set(kind.key, { kind, count: 1 });
      else known.count += 1;
    }
    const visits = [...kindsOf]
      .map(([linkId, kinds]) => ({ projectId, linkId, clicks: 0, kinds: [...kinds.values()] }))
      .toSorted(compareLinks);
    for (let start = 0; start < visits.length; start += linksAtOnce) {
      await file.write((db) => countVisits(db, visits.slice(start, start + linksAtOnce), 0));
    }
  }
}

function pickFacts({ chance, pick, pickPopular }: Namer): VisitFacts {
  return {
    platform: pick(["ios", "android", "desktop"]),
    source: pick(["address", "address", "qr", "short"]),
    country: pickPopular(countries),
    ...(chance(0.5) && { referrer: pickPopular(referrers) }),
  };
}

async function measureOne(server: Server, { keys }: BenchProject, by: string): Promise<number> {
  const [token = ""] = keys;
  const from = new Date((today - days + 1) * dayHours * hour_ms).toISOString().slice(0, 10);
  const times_ms: number[] = [];
  for (let turn = 0; turn <= asked; turn += 1) {
    const path = `/api/v1/link_stats?from=${from}&by=${by}`;
    const started = performance.now();
    const { status, body } = await ask(server, { path, token });
    if (status !== 200) throw new Error(`link_stats answered ${status}: ${body.slice(0, 200)}`);
    if (turn > 0) times_ms.push(performance.now() - started);
  }
  return findMedian(times_ms);
}
