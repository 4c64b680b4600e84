import { sql, type RawBuilder, type SqlBool } from "kysely";
import { uuidPattern } from "../contract/fields.ts";
import { paging } from "../contract/limits.ts";
import { readEngine } from "../sql/open-kysely.ts";
import { queueTask } from "./background-tasks.ts";
import { indexedColumns, trigrams, type Db, type IndexedColumn, type Tenant } from "./tables.ts";

/**
 * Indexes links by trigrams for `cont` filters. In SQLite, every large project has its own FTS5
 * table, so a search reads no text of other projects. In PostgreSQL, one index serves all projects,
 * if pg_trgm is installed. A background task fills an FTS5 table in batches, in the order of link
 * ids, and stores the last indexed id in `tallies.indexed_to`. Writes update the index for links up
 * to that id. Links with later ids are left to the task.
 */

/** The value of `indexed_to` for a complete index. It sorts after every UUID. */
export const wholeIndex = "~";

/** A batch ends after this time, because other writes wait for it. */
const batch_ms = 1;
const stepRows = 25;
/** FTS5 merges whole pages. With its default page size of 4 kB, a merge takes too long. */
const page_bytes = 1000;

const columnNames = sql.join(indexedColumns.map((column) => sql.ref(column)));
const foldedNames = sql.join(indexedColumns.map((column) => sql.ref(`${column}_lc`)));

/** Returns a condition for links that contain the text, or undefined if no index can be used. */
export function matchContains(
  { db, projectId }: Tenant,
  column: IndexedColumn,
  folded: string,
): RawBuilder<SqlBool> | undefined {
  if (readEngine(db) === "postgres") return undefined;
  if (Array.from(folded).length < paging.shortest_indexed) return undefined;
  const phrase = `${column} : "${folded.replaceAll('"', '""')}"`;
  const table = nameIndex(projectId);
  return sql<SqlBool>`links.rowkey in (select rowid from ${table} where ${table} match ${phrase})`;
}

/** Creates a project's empty index, and queues the task that fills it. */
export async function createIndex({ db, projectId }: Tenant): Promise<void> {
  if (readEngine(db) === "postgres") return;
  const table = nameIndex(projectId);
  // The texts are already case-folded. With `content=''`, the index keeps no copy of them.
  await sql`
    create virtual table if not exists ${table} using fts5 (
      ${columnNames}, content='', contentless_delete=1, tokenize='trigram case_sensitive 1'
    )
  `.execute(db);
  await sql`insert into ${table} (${table}, rank) values ('pgsz', ${page_bytes})`.execute(db);
  await sql`update tallies set indexed_to = '' where project_id = ${projectId}`.execute(db);
  await queueTask(db, { kind: "index_project", project_id: projectId, subject: "" });
}

/** Indexes a batch of links in the order of their ids. Returns true if this was the last batch. */
export async function indexBatch(tenant: Tenant): Promise<boolean> {
  const { db, projectId } = tenant;
  const tally = await db
    .selectFrom("tallies")
    .select("indexed_to")
    .where("project_id", "=", projectId)
    .executeTakeFirst();
  let indexedTo = tally?.indexed_to ?? wholeIndex;
  const end = performance.now() + batch_ms;
  while (indexedTo !== wholeIndex) {
    indexedTo = await indexStep(tenant, indexedTo);
    if (performance.now() >= end) break;
  }
  await sql`
    update tallies set indexed_to = ${indexedTo}
    where project_id = ${projectId} and indexed_to is not null
  `.execute(db);
  return indexedTo === wholeIndex;
}

/** Indexes the next few links. Returns the last indexed id. */
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
  if (last === undefined) return wholeIndex;
  await fillIndex(tenant, sql`id > ${indexedTo} and id <= ${last}`);
  return next.length < stepRows ? wholeIndex : last;
}

/** Indexes a written link, unless the background task will index it later. */
export async function indexLink(
  tenant: Tenant,
  id: string,
  indexedTo: string | null,
): Promise<void> {
  if (indexedTo === null || id > indexedTo) return;
  await fillIndex(tenant, sql`id = ${id}`);
}

/** Removes a link from the index. Must run before the link is changed or deleted. */
export async function unindexLink(
  { db, projectId }: Tenant,
  id: string,
  indexedTo: string | null,
): Promise<void> {
  if (indexedTo === null || id > indexedTo) return;
  await sql`
    delete from ${nameIndex(projectId)}
    where rowid = (select rowkey from links where project_id = ${projectId} and id = ${id})
  `.execute(db);
}

export async function dropIndex(db: Db, projectId: string): Promise<void> {
  if (readEngine(db) === "postgres") return;
  await sql`drop table if exists ${nameIndex(projectId)}`.execute(db);
}

async function fillIndex({ db, projectId }: Tenant, which: RawBuilder<unknown>): Promise<void> {
  await sql`
    insert into ${nameIndex(projectId)} (rowid, ${columnNames})
    select rowkey, ${foldedNames} from links where project_id = ${projectId} and ${which}
  `.execute(db);
}

/** Returns the name of a project's index. The id is checked because it becomes part of the SQL. */
function nameIndex(projectId: string): RawBuilder<unknown> {
  if (!uuidPattern.test(projectId)) throw new Error("not a project id");
  return sql.table(`links_contains_${projectId.replaceAll("-", "")}`);
}

/** Lists the reasons why searches are slow. Always empty for SQLite. */
export async function listSlow(db: Db): Promise<readonly string[]> {
  if (readEngine(db) === "sqlite") return [];
  const { rows } = await sql<{ readonly name: string | null }>`
    select to_regclass('links_texts')::text as name
  `.execute(db);
  return typeof rows[0]?.name === "string" ? [] : [noTrigrams];
}

const noTrigrams =
  "searches inside names, paths and addresses are slow, because PostgreSQL's extension pg_trgm " +
  "is missing. As the database owner, run: create extension pg_trgm; create extension " +
  `btree_gin; create index links_texts on links using gin (project_id, ${trigrams})`;
