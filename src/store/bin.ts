import { sql } from "kysely";
import { limits } from "../contract/limits.ts";
import { queueChore } from "./queue-chore.ts";
import { dropShortPaths } from "./short-paths.ts";
import type { BinKind, BinTable } from "./tables.ts";
import { sweepProjects } from "./sweep-projects.ts";
import type { Db, Tenant } from "./tenant.ts";

/** Deleted links and apps, until they are brought back or their time is over. */

/** One deleted row, as its table had it. */
export type Deleted<Row> = {
  readonly id: string;
  readonly row: Row;
  /** Visits that were counted before the deletion and written down after it. */
  readonly clicks: number;
};

/** What came of bringing it back: the fields name values that something else has by now. */
export type Restored<Resource> =
  { readonly restored: Resource } | { readonly taken: readonly string[] };

export type BinEntry = Omit<BinTable, "project_id" | "record" | "clicks"> & {
  readonly row: Readonly<Record<string, unknown>>;
  /** When it is gone for ever. */
  readonly until: number;
};

const kept_ms = limits.bin_days * 24 * 60 * 60 * 1000;
const batchRows = 1000;
/** Each deletion takes a few along that are too old: no process need watch for that alone. */
const sweptRows = 10;

/** Writes a row down in the transaction that deletes it. */
export async function putInBin(
  tenant: Tenant,
  kind: BinKind,
  { project_id, ...row }: { readonly project_id: string; readonly id: string },
  now: number,
): Promise<void> {
  const record = JSON.stringify(row);
  const entry = { project_id, kind, id: row.id, record, clicks: 0, deleted_at: now };
  await tenant.db.insertInto("bin").values(entry).execute();
  await emptyBatch(tenant, now - kept_ms, sweptRows);
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
    .where("project_id", "=", projectId)
    .where("kind", "=", kind)
    .where("id", "=", id)
    .where("deleted_at", ">", now - kept_ms)
    .executeTakeFirst();
  // We wrote the record ourselves, from a row of the kind's table.
  return found && { id, row: JSON.parse(found.record) as Row, clicks: found.clicks };
}

/** For what is brought back: it is no longer deleted. */
export async function takeOutOfBin(
  { db, projectId }: Tenant,
  kind: BinKind,
  id: string,
): Promise<void> {
  await db
    .deleteFrom("bin")
    .where("project_id", "=", projectId)
    .where("kind", "=", kind)
    .where("id", "=", id)
    .execute();
}

/** The kind of what rests under an id. */
export async function findBinKind(
  { db, projectId }: Tenant,
  id: string,
): Promise<BinKind | undefined> {
  const entry = db
    .selectFrom("bin")
    .select("kind")
    .where("project_id", "=", projectId)
    .where("kind", "in", ["link", "ios_app", "android_app"])
    .where("id", "=", id);
  return (await entry.executeTakeFirst())?.kind;
}

type BinPart = {
  readonly offset: number;
  readonly limit: number;
  /** Left out, every kind. */
  readonly kinds?: readonly BinKind[];
};

/** What can be brought back, the latest deletion first. */
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
    // We wrote the record ourselves, as the JSON of a row.
    const row = JSON.parse(record) as BinEntry["row"];
    return { ...entry, row, until: entry.deleted_at + kept_ms };
  });
}

/** How many there are, or `most` where there are more. */
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

/** Takes away for ever what was deleted up to a time; true when nothing of that is left. */
export async function emptyBatch(tenant: Tenant, upTo: number, most = batchRows): Promise<boolean> {
  const { db, projectId } = tenant;
  const { rows } = await sql<Pick<BinTable, "kind" | "id">>`
    delete from bin where project_id = ${projectId} and (kind, id) in (
      select kind, id from bin
      where project_id = ${projectId} and deleted_at <= ${upTo} limit ${most}
    ) returning kind, id
  `.execute(db);
  const links = rows.filter(({ kind }) => kind === "link");
  await dropShortPaths(
    tenant,
    links.map(({ id }) => id),
  );
  return rows.length < most;
}

/** The chore that empties a project's bin of what was deleted up to a time. */
export function describeEmptying(projectId: string, upTo: number) {
  return { kind: "empty_bin", project_id: projectId, subject: String(upTo) } as const;
}

/** Queues a chore for each project that has something in its bin whose time is over. */
export async function queueExpired(
  { db, write }: { readonly db: Db; write: (work: (db: Db) => Promise<void>) => Promise<void> },
  now: number,
): Promise<void> {
  const upTo = now - kept_ms;
  for await (const ids of sweepProjects(db)) {
    const expired = await listExpired(db, ids, upTo);
    if (expired.length > 0) {
      await write(async (own) => {
        for (const id of expired) await queueChore(own, describeEmptying(id, upTo));
      });
    }
  }
}

async function listExpired(
  db: Db,
  projects: readonly string[],
  upTo: number,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom("bin")
    .select("project_id")
    .distinct()
    .where("project_id", "in", projects)
    .where("deleted_at", "<=", upTo)
    .execute();
  return rows.map(({ project_id }) => project_id);
}
