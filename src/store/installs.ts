import { sql, type ExpressionBuilder } from "kysely";
import { mostSkew_ms, type Random } from "../contract/clock.ts";
import { limits } from "../contract/limits.ts";
import type { Sql } from "../sql/sql.ts";
import type { Db, DeferredVisitTable, Tables, Tenant } from "./tables.ts";

/**
 * Stores link visits, so that an app that is installed afterwards can open the same link. Phones
 * and IP addresses are stored only as keyed hashes, and expired rows are deleted. A visit that
 * matched an install is kept for at least a minute, so that the app can retry its request.
 */

/** Returns the latest plausible expiry. A later one means that the clock was set back. */
export function findLatestEnd(now: number): number {
  return now + limits.deferred_visit_ms + mostSkew_ms;
}

type VisitExpression = ExpressionBuilder<Tables, "deferred_visits">;

const isOpen = (now: number) => (row: VisitExpression) =>
  row.between("ends_at", now + 1, findLatestEnd(now));

/** A visit. If `isWhole` is true, it contains the details that only the page's script reports. */
export type RecordedVisit = {
  readonly visit: Omit<DeferredVisitTable, "used_by" | "told">;
  readonly isWhole: boolean;
};

/**
 * `noted` must contain no duplicates. A whole record replaces an incomplete one, but never the
 * reverse. Used visits are not changed.
 */
export async function writeVisits(db: Db, noted: readonly RecordedVisit[]): Promise<void> {
  for (const isWhole of [false, true]) {
    const visits = noted.flatMap((one) => (one.isWhole === isWhole ? [one.visit] : []));
    if (visits.length === 0) continue;
    await db
      .insertInto("deferred_visits")
      .values(visits)
      .onConflict((conflict) => {
        const known = conflict.columns(["project_id", "id"]);
        if (!isWhole) return known.doNothing();
        const replaced = known.doUpdateSet((row) => ({
          query: row.ref("excluded.query"),
          address: row.ref("excluded.address"),
          is_shared: row.ref("excluded.is_shared"),
          whole: row.ref("excluded.whole"),
          marks: row.ref("excluded.marks"),
        }));
        return replaced.where("deferred_visits.told", "is", null);
      })
      .execute();
  }
}

/** If one IP address has more visits than this, its phones are too hard to distinguish. */
const mostHere = 100;

/** Finds the unused visits from an install's IP address. Returns none if there are too many. */
export async function findVisits(
  tenant: Tenant,
  { address, now }: { readonly address: string; readonly now: number },
): Promise<readonly DeferredVisitTable[]> {
  const found = await selectWaiting(tenant, now)
    .where("address", "=", address)
    .orderBy("ends_at", "desc")
    .limit(mostHere + 1)
    .execute();
  return found.length > mostHere ? [] : found;
}

/** Finds an unused visit by the id that the app sent. */
export function findWaiting(
  tenant: Tenant,
  id: string,
  now: number,
): Promise<DeferredVisitTable | undefined> {
  return selectWaiting(tenant, now).where("id", "=", id).executeTakeFirst();
}

function selectWaiting({ db, projectId }: Tenant, now: number) {
  const visits = db.selectFrom("deferred_visits").selectAll().where("project_id", "=", projectId);
  return visits.where("told", "is", null).where(isOpen(now));
}

/** Finds the same install's earlier result, so that a retry gets the same response. */
export async function findEarlierAnswer(
  { db, projectId }: Tenant,
  usedBy: string,
  now: number,
): Promise<{ readonly link_id: string; readonly told: string } | undefined> {
  return db
    .selectFrom("deferred_visits")
    .select(["link_id", "told"])
    .where("project_id", "=", projectId)
    .where("used_by", "=", usedBy)
    .where("told", "is not", null)
    .where(isOpen(now))
    .orderBy("ends_at", "desc")
    .$narrowType<{ told: string }>()
    .executeTakeFirst();
}

type TakeOptions = {
  readonly now: number;
  readonly usedBy: string | undefined;
  readonly told: string;
  /** True if the app sent the id of this visit. */
  readonly isNamed: boolean;
};

/** How long an app can retry, even if the visit expires earlier. */
const repeatWindow_ms = 60_000;

/**
 * Marks a visit as used. If several callers try at once, even in different processes, only one gets
 * true. Returns false if the install has already used a visit, so that parallel requests of one
 * install cannot use up other people's visits. Unless the app sent the visit's id, identical visits
 * of the same link are marked too, because they are probably from the same phone.
 */
export async function takeVisit(
  { db, projectId }: Tenant,
  { id, link_id, whole, address }: DeferredVisitTable,
  { now, usedBy, told, isNamed }: TakeOptions,
): Promise<boolean> {
  const before =
    usedBy === undefined ? undefined : await findEarlierAnswer({ db, projectId }, usedBy, now);
  if (before !== undefined) return false;
  const until = now + repeatWindow_ms;
  const ends_at = sql<number>`case when ends_at > ${until} then ends_at else ${until} end`;
  const use = db
    .updateTable("deferred_visits")
    .set({ used_by: usedBy ?? null, told, ends_at })
    .where("project_id", "=", projectId)
    .where("told", "is", null)
    .where(isOpen(now));
  const { numUpdatedRows } = await use.where("id", "=", id).executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  if (isNamed) return true;
  const alike = use.where("link_id", "=", link_id).where("whole", "=", whole);
  // `whole` already includes the IP address. This condition only lets the database use an index.
  await alike.where("address", "=", address).execute();
  return true;
}

export async function dropEndedVisits(
  { write }: Pick<Sql<Tables>, "write">,
  now: number,
): Promise<void> {
  const isOver = (row: VisitExpression) =>
    row.or([row("ends_at", "<=", now), row("ends_at", ">", findLatestEnd(now))]);
  await write((db) => db.deleteFrom("deferred_visits").where(isOver).execute(), {
    isPatient: true,
  });
}

const key_bytes = 32;
const keyName = "deferred visits";

/** Returns the secret key for hashing visits, and creates it if necessary. */
export async function readSealKey(
  { db, write }: Pick<Sql<Tables>, "db" | "write">,
  random: Random,
): Promise<string> {
  const existing = await findSealKey(db);
  if (existing !== undefined) return existing;
  return write(async (own) => {
    const value = Buffer.from(random.bytes(key_bytes)).toString("base64url");
    const insert = own.insertInto("store_secrets").values({ name: keyName, value });
    await insert.onConflict((conflict) => conflict.doNothing()).execute();
    // Another process may have created the key first.
    return (await findSealKey(own)) ?? value;
  });
}

async function findSealKey(db: Db): Promise<string | undefined> {
  const found = db.selectFrom("store_secrets").select("value").where("name", "=", keyName);
  return (await found.executeTakeFirst())?.value;
}
