import { sql, type RawBuilder, type SqlBool } from "kysely";
import { uuidPattern } from "../../contract/fields.ts";
import { paging } from "../../contract/limits.ts";
import { whileAwaited } from "../../sql/long-reads.ts";
import { queueChore } from "../queue-chore.ts";
import type { Db, Tenant } from "../tenant.ts";
import type { Matched } from "../list-page.ts";
import { indexedColumns, wholeIndex, type IndexedColumn } from "./link-search.ts";
import type { Inside, LinkSearch } from "./link-search.ts";

/**
 * The trigram index behind `cont` on links, one FTS5 table for each project that is large enough:
 * a small project pays nothing for it, and no search goes through another project's names.
 *
 * It is built in batches while the service runs. `tallies.indexed_to` says how far it is: links
 * up to that id are kept up to date by every write, and later ones are indexed by the chore.
 */

export const sqliteSearch: LinkSearch = {
  describeRows,
  matchContains,
  matchTogether,
  createIndex,
  indexBatch,
  indexLink,
  unindexLink,
  dropIndex,
};

/**
 * So long links are put in before they are committed, which takes as long again: whoever visits a
 * link waits for both. Shorter batches would wait for the disk most of the time.
 */
const batch_ms = 1;
const mostSteps = 10;
const stepRows = 25;
/** The index merges its parts by so many pages at once: of its usual 4 kB they take 10 ms. */
const page_bytes = 1000;

/**
 * Where the trigram index finds the rows, the plus sign keeps SQLite from going through the whole
 * project and looking each link up in what was found.
 */
function describeRows(
  projectId: string,
  { isFoundInside, isScanned, order }: Parameters<LinkSearch["describeRows"]>[1],
): ReturnType<LinkSearch["describeRows"]> {
  const isAwaited = whileAwaited(sql`links.rowkey`);
  return {
    ownRows: sql`${isAwaited} and links.project_id = ${projectId}`,
    ...(isScanned && { scannedBy: orders.created_at }),
    walkedBy: order === undefined ? undefined : orders[order],
    ...(isFoundInside && {
      ownRowsUnindexed: sql<SqlBool>`${isAwaited} and +links.project_id = ${projectId}`,
    }),
  };
}

/** The index that has the links in the order of a field. */
const orders: Readonly<Record<string, string>> & { readonly created_at: string } = {
  created_at: "links_created",
  path: "links_path",
  name: "links_name",
  clicks: "links_clicks",
};

function matchContains(
  projectId: string,
  column: IndexedColumn,
  folded: string,
): RawBuilder<SqlBool> | undefined {
  return matchTogether(projectId, [[{ column, folded }]])?.isOne;
}

function matchTogether(
  projectId: string,
  all: readonly (readonly Inside[])[],
): Matched | undefined {
  const shortest = Math.min(...all.flat().map(({ folded }) => Array.from(folded).length));
  if (shortest < paging.shortest_indexed) return undefined;
  const table = sql.table(nameIndex(projectId));
  const phrases = all.map((some) => `(${writePhrases(some).join(" OR ")})`);
  const keys = sql`select rowid from ${table} where ${table} match ${phrases.join(" AND ")}`;
  return { keys, isOne: sql<SqlBool>`links.rowkey in (${keys})` };
}

/** Columns that are searched for the same text are read at once, in a fifth of the time. */
function writePhrases(some: readonly Inside[]): readonly string[] {
  const texts = new Set(some.map(({ folded }) => folded));
  return [...texts].map((text) => {
    const columns = some.filter(({ folded }) => folded === text).map(({ column }) => column);
    const phrase = `"${text.replaceAll('"', '""')}"`;
    const isAnywhere = indexedColumns.every((column) => columns.includes(column));
    return isAnywhere ? phrase : `{${columns.join(" ")}} : ${phrase}`;
  });
}

async function createIndex({ db, projectId }: Tenant): Promise<void> {
  // Lower-cased text goes in, so the index need not fold; it keeps no copy of the texts.
  await sql`
    create virtual table if not exists ${sql.table(nameIndex(projectId))} using fts5 (
      ${sql.join(indexedColumns.map((column) => sql.ref(column)))},
      content='', contentless_delete=1, tokenize='trigram case_sensitive 1'
    )
  `.execute(db);
  const table = sql.table(nameIndex(projectId));
  await sql`insert into ${table} (${table}, rank) values ('pgsz', ${page_bytes})`.execute(db);
  await sql`update tallies set indexed_to = '' where project_id = ${projectId}`.execute(db);
  await queueChore(db, { kind: "index_project", project_id: projectId, subject: "" });
}

async function indexBatch(tenant: Tenant): Promise<boolean> {
  const { db, projectId } = tenant;
  const tally = await db
    .selectFrom("tallies")
    .select("indexed_to")
    .where("project_id", "=", projectId)
    .executeTakeFirst();
  if (tally === undefined || tally.indexed_to === null) return true;
  const end = performance.now() + batch_ms;
  let indexedTo = await indexStep(tenant, tally.indexed_to);
  for (let step = 1; indexedTo !== wholeIndex && step < mostSteps; step += 1) {
    if (performance.now() >= end) break;
    indexedTo = await indexStep(tenant, indexedTo);
  }
  await sql`
    update tallies set indexed_to = ${indexedTo} where project_id = ${projectId}
  `.execute(db);
  return indexedTo === wholeIndex;
}

/** Answers how far the index is then. */
async function indexStep(tenant: Tenant, indexedTo: string): Promise<string> {
  const { db, projectId } = tenant;
  const next = await db
    .selectFrom("links")
    .select("id")
    .where("project_id", "=", projectId)
    .where("id", ">", indexedTo)
    .orderBy("id")
    .limit(stepRows)
    .execute();
  const last = next.at(-1)?.id;
  if (last !== undefined) await fillIndex(tenant, sql`id > ${indexedTo} and id <= ${last}`);
  return next.length < stepRows ? wholeIndex : (last ?? wholeIndex);
}

async function indexLink(tenant: Tenant, id: string, indexedTo: string | null): Promise<void> {
  if (indexedTo === null || id > indexedTo) return;
  await fillIndex(tenant, sql`id = ${id}`);
}

async function unindexLink(
  { db, projectId }: Tenant,
  id: string,
  indexedTo: string | null,
): Promise<void> {
  if (indexedTo === null || id > indexedTo) return;
  await sql`
    delete from ${sql.table(nameIndex(projectId))}
    where rowid = (select rowkey from links where project_id = ${projectId} and id = ${id})
  `.execute(db);
}

async function dropIndex(db: Db, projectId: string): Promise<void> {
  await sql`drop table if exists ${sql.table(nameIndex(projectId))}`.execute(db);
}

async function fillIndex({ db, projectId }: Tenant, which: RawBuilder<unknown>): Promise<void> {
  await sql`
    insert into ${sql.table(nameIndex(projectId))}
    (rowid, ${sql.join(indexedColumns.map((column) => sql.ref(column)))})
    select rowkey, ${sql.join(indexedColumns.map((column) => sql.ref(`${column}_lc`)))} from links
    where project_id = ${projectId} and ${which}
  `.execute(db);
}

/** The id is our own, but it becomes part of a table's name, so it is checked once more. */
function nameIndex(projectId: string): string {
  if (!uuidPattern.test(projectId)) throw new Error("not a project id");
  return `links_contains_${projectId.replaceAll("-", "")}`;
}
