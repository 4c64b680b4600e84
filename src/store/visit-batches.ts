import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import { addCells, createCellsWriter, type Cells } from "../stats/cells.ts";
import { addClicks } from "./clicks.ts";
import { tellOfClicks } from "./link-events.ts";
import { findTally } from "./project-tallies.ts";
import type { Flag } from "./tables.ts";
import type { Db, Tenant } from "./tenant.ts";

/** How often a link was visited since it was last written down. */
export type VisitCount = {
  readonly projectId: string;
  readonly linkId: string;
  /** What it adds to the link's clicks. */
  readonly clicks: number;
  readonly kinds: ReadonlyMap<string, number>;
};

/** Of so many links the clicks are added at once; to add those of more would hold others up. */
const mostAtOnce = 250;
/** A row has the visits of so many links at the most. */
const mostInRow = 2000;
/** What is read at once of what waits. */
const rowsAtOnce = 16;
/** So many rows are added up by whoever only reads; of more it is worth to put them together. */
const mostRead = 256;
/** So many counts are put together at a time, in tens of megabytes. */
const mostCells = 250_000;
/** And of so many rows, which one statement names when they are taken away. */
const mostBatches = 1000;

/**
 * Writes visits down in the caller's transaction. Where they are of many links, that is all: what
 * each row and its index entries cost is paid later, for the clicks of many seconds together.
 * Answers the projects whose links lack their clicks until then.
 */
export async function writeVisits(
  db: Db,
  visits: readonly VisitCount[],
  now: number,
): Promise<ReadonlySet<string>> {
  const isOwed = visits.length > mostAtOnce;
  const projects = new Set(visits.map(({ projectId }) => projectId));
  // In the order of their ids: a webhook's project is locked, and two processes never deadlock.
  for (const projectId of [...projects].toSorted()) {
    const own =
      projects.size === 1 ? visits : visits.filter((visit) => visit.projectId === projectId);
    const tally = await findTally({ db, projectId });
    // Its last visits were on their way when it was deleted: nobody would take them away again.
    if (tally === undefined) continue;
    await tellOfClicks({ db, projectId }, tally, own, now);
    for (let start = 0; start < own.length; start += mostInRow) {
      const writer = createCellsWriter();
      for (const visit of own.slice(start, start + mostInRow)) {
        writer.startRow(visit.linkId);
        for (const [kind, count] of visit.kinds) writer.count(kind, count);
      }
      await insertBatch({ db, projectId }, isOwed ? 1 : 0, writer.write());
      // A visitor must not wait for all of them.
      await setImmediate();
    }
  }
  if (isOwed) return projects;
  const clicked = visits.filter(({ clicks }) => clicks > 0);
  // In the order of their ids: neighbours share pages, and two processes never deadlock.
  const sorted = clicked.toSorted((one, other) => (one.linkId < other.linkId ? -1 : 1));
  if (sorted.length > 0) await addClicks(db, sorted.map(toClicks));
  return new Set();
}

function toClicks({ projectId, linkId, clicks }: VisitCount) {
  return { projectId, linkId, count: clicks };
}

export async function insertBatch(
  { db, projectId }: Tenant,
  owes_clicks: Flag,
  body: string,
): Promise<string> {
  const id = randomUUID();
  await db
    .insertInto("visit_batches")
    .values({ project_id: projectId, id, owes_clicks, body })
    .execute();
  return id;
}

/** Whether links of the project lack clicks that are written down. */
export async function owesClicks({ db, projectId }: Tenant): Promise<boolean> {
  const found = db
    .selectFrom("visit_batches")
    .select("project_id")
    .where("project_id", "=", projectId)
    .where("owes_clicks", "=", 1)
    .limit(1);
  return (await found.executeTakeFirst()) !== undefined;
}

/** Whether more waits of a project than whoever only reads adds up by itself. */
export async function isMuchWaiting({ db, projectId }: Tenant): Promise<boolean> {
  const beyond = db
    .selectFrom("visit_batches")
    .select("id")
    .where("project_id", "=", projectId)
    .orderBy("id")
    .offset(mostRead)
    .limit(1);
  return (await beyond.executeTakeFirst()) !== undefined;
}

/** All that waits of a project. */
export async function listBatches({ db, projectId }: Tenant): Promise<readonly string[]> {
  const rows = await db
    .selectFrom("visit_batches")
    .select("id")
    .where("project_id", "=", projectId)
    .orderBy("id")
    .execute();
  return rows.map(({ id }) => id);
}

/** What is in them, some at a time; undefined where one of those was taken away. */
export async function* readBatches(
  { db, projectId }: Tenant,
  ids: readonly string[],
): AsyncGenerator<readonly string[] | undefined> {
  for (let start = 0; start < ids.length; start += rowsAtOnce) {
    const some = ids.slice(start, start + rowsAtOnce);
    const rows = await db
      .selectFrom("visit_batches")
      .select("body")
      .where("project_id", "=", projectId)
      .where("id", "in", some)
      .execute();
    yield rows.length === some.length ? rows.map(({ body }) => body) : undefined;
  }
}

export type Collected = {
  readonly ids: readonly string[];
  readonly cells: Cells;
  /** Whether more was there than may be held. */
  readonly isCut: boolean;
};

/** Puts together what waits, as much as may be held at once. */
export async function collectBatches(
  { db, projectId }: Tenant,
  owes_clicks: Flag,
): Promise<Collected> {
  const ids: string[] = [];
  const cells: Cells = new Map();
  for (let size = 0; size < mostCells && ids.length < mostBatches;) {
    const rows = await db
      .selectFrom("visit_batches")
      .select(["id", "body"])
      .where("project_id", "=", projectId)
      .where("owes_clicks", "=", owes_clicks)
      .where("id", ">", ids.at(-1) ?? "")
      .orderBy("id")
      .limit(rowsAtOnce)
      .execute();
    for (const { id, body } of rows) {
      ids.push(id);
      size += addCells(cells, body);
      await setImmediate();
    }
    if (rows.length < rowsAtOnce) return { ids, cells, isCut: false };
  }
  return { ids, cells, isCut: true };
}

/** Takes them away; false where another process has taken one of them before. */
export async function takeBatches(
  { db, projectId }: Tenant,
  ids: readonly string[],
): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom("visit_batches")
    .where("project_id", "=", projectId)
    .where("id", "in", ids)
    .executeTakeFirstOrThrow();
  return numDeletedRows === BigInt(ids.length);
}

/** Those of the projects of which something waits. */
export async function listWaitingProjects(
  db: Db,
  projects: readonly string[],
): Promise<readonly string[]> {
  const waiting = db.selectFrom("visit_batches").select("project_id").distinct();
  const rows = await waiting.where("project_id", "in", projects).execute();
  return rows.map(({ project_id }) => project_id);
}

/** Takes away some of what is kept of a deleted project's visits; true when nothing is left. */
export async function purgeVisits({ db, projectId }: Tenant, most: number): Promise<boolean> {
  const { numAffectedRows: batches = 0n } = await sql`
    delete from visit_batches where project_id = ${projectId} and id in (
      select id from visit_batches where project_id = ${projectId} limit ${most}
    )
  `.execute(db);
  const { numAffectedRows: days = 0n } = await sql`
    delete from visit_days where project_id = ${projectId} and (day, first_id) in (
      select day, first_id from visit_days where project_id = ${projectId} limit ${most}
    )
  `.execute(db);
  const { numAffectedRows: totals = 0n } = await sql`
    delete from visit_totals where project_id = ${projectId} and day in (
      select day from visit_totals where project_id = ${projectId} limit ${most}
    )
  `.execute(db);
  return batches + days + totals === 0n;
}
