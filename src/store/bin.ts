import { sql } from "kysely";
import { limits } from "../contract/limits.ts";
import type { Sql } from "../sql/sql.ts";
import { repeatWrite } from "./background-tasks.ts";
import type { BinKind, Tables, Tenant } from "./tables.ts";

/** The bin keeps deleted links and apps, until they are restored or expire. */

/** A deleted link or app, with all columns of its row. */
export type Deleted<Row> = {
  readonly id: string;
  readonly row: Row;
  /** Clicks that happened before the deletion but were stored after it. */
  readonly clicks: number;
};

/** The restored resource, or the fields whose values are now taken by another resource. */
export type Restored<Resource> =
  { readonly restored: Resource } | { readonly taken: readonly string[] };

export type BinEntry = Omit<Tables["bin"], "project_id" | "record" | "clicks"> & {
  readonly row: Readonly<Record<string, unknown>>;
  /** When the entry expires and is deleted permanently. */
  readonly until: number;
};

const kept_ms = limits.bin_days * 24 * 60 * 60 * 1000;
const batchRows = 1000;

/** Copies a row to the bin. The caller deletes the original row in the same transaction. */
export async function putInBin(
  { db }: Tenant,
  kind: BinKind,
  { project_id, ...row }: { readonly project_id: string; readonly id: string },
  now: number,
): Promise<void> {
  const record = JSON.stringify(row);
  const entry = { project_id, kind, id: row.id, record, clicks: 0, deleted_at: now };
  await db.insertInto("bin").values(entry).execute();
}

export async function findInBin<Row>(
  { db, projectId }: Tenant,
  kind: BinKind,
  id: string,
  now: number,
): Promise<Deleted<Row> | undefined> {
  const found = await db
    .selectFrom("bin")
    .select(["record", "clicks"])
    .where((row) => row.and({ project_id: projectId, kind, id }))
    .where("deleted_at", ">", now - kept_ms)
    .executeTakeFirst();
  // The cast is safe, because `putInBin` wrote this JSON from a row of the same kind.
  return found && { id, row: JSON.parse(found.record) as Row, clicks: found.clicks };
}

export async function takeOutOfBin(
  { db, projectId }: Tenant,
  kind: BinKind,
  id: string,
): Promise<void> {
  await db
    .deleteFrom("bin")
    .where((row) => row.and({ project_id: projectId, kind, id }))
    .execute();
}

export async function findBinKind(
  { db, projectId }: Tenant,
  id: string,
): Promise<BinKind | undefined> {
  const entries = db.selectFrom("bin").select("kind").where("project_id", "=", projectId);
  return (await entries.where("id", "=", id).executeTakeFirst())?.kind;
}

type BinPart = {
  readonly offset: number;
  readonly limit: number;
  readonly kinds?: readonly BinKind[];
};

/** Lists the entries that can be restored, most recent deletion first. */
export async function listBin(
  tenant: Tenant,
  now: number,
  { offset, limit, kinds }: BinPart,
): Promise<readonly BinEntry[]> {
  const entries = await selectKept(tenant, now, kinds)
    .select(["kind", "id", "record", "deleted_at"])
    .orderBy("deleted_at", "desc")
    .orderBy("kind")
    .orderBy("id", "desc")
    .offset(offset)
    .limit(limit)
    .execute();
  return entries.map(({ record, ...entry }) => {
    // The cast is safe, because `putInBin` wrote this JSON from a row.
    const row = JSON.parse(record) as BinEntry["row"];
    return { ...entry, row, until: entry.deleted_at + kept_ms };
  });
}

export async function countBin(
  tenant: Tenant,
  now: number,
  { kinds, most }: Pick<BinPart, "kinds"> & { readonly most?: number } = {},
): Promise<number> {
  const kept = selectKept(tenant, now, kinds).select("id");
  const { count } = await tenant.db
    .selectFrom((most === undefined ? kept : kept.limit(most)).as("kept"))
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return count;
}

function selectKept({ db, projectId }: Tenant, now: number, kinds?: readonly BinKind[]) {
  const kept = db
    .selectFrom("bin")
    .where("project_id", "=", projectId)
    .where("deleted_at", ">", now - kept_ms);
  return kinds === undefined ? kept : kept.where("kind", "in", kinds);
}

type BinKey = Pick<Tables["bin"], "deleted_at" | "kind" | "id">;

/** Deletes a batch of entries, oldest first. Returns true if this was the last batch. */
async function emptyBatch(tenant: Tenant, upTo: number): Promise<boolean> {
  const { db, projectId } = tenant;
  const isOld = sql`project_id = ${projectId} and deleted_at <= ${upTo}`;
  // By the key of the batch's last row, because a subquery could run again for each row.
  const batch = await sql<BinKey>`
    select deleted_at, kind, id from bin where ${isOld}
    order by deleted_at, kind, id limit 1 offset ${batchRows - 1}
  `.execute(db);
  const [last] = batch.rows;
  const which =
    last === undefined
      ? isOld
      : sql`project_id = ${projectId}
          and (deleted_at, kind, id) <= (${last.deleted_at}, ${last.kind}, ${last.id})`;
  const { rows } = await sql<Pick<BinKey, "kind" | "id">>`
    delete from bin where ${which} returning kind, id
  `.execute(db);
  const links = rows.filter(({ kind }) => kind === "link");
  await dropShortPaths(
    tenant,
    links.map(({ id }) => id),
  );
  return last === undefined;
}

/** Permanently deletes the links and apps that were moved to the bin at `upTo` or earlier. */
export async function emptyBin(
  store: Pick<Sql<Tables>, "write">,
  projectId: string,
  upTo: number,
  signal?: AbortSignal,
): Promise<void> {
  await repeatWrite(store, (db) => emptyBatch({ db, projectId }, upTo), signal);
}

export async function dropExpired(
  store: Pick<Sql<Tables>, "db" | "write">,
  now: number,
  signal: AbortSignal,
): Promise<void> {
  const upTo = now - kept_ms;
  const expired = store.db.selectFrom("bin").select("project_id").distinct();
  const projects = await expired.where("deleted_at", "<=", upTo).execute();
  for (const { project_id } of projects) await emptyBin(store, project_id, upTo, signal);
}

/** Deletes the additional short paths of permanently deleted links. */
async function dropShortPaths(
  { db, projectId }: Tenant,
  linkIds: readonly string[],
): Promise<void> {
  if (linkIds.length === 0) return;
  await db
    .deleteFrom("short_paths")
    .where("project_id", "=", projectId)
    .where("link_id", "in", linkIds)
    .execute();
}
