import { sql, type ExpressionBuilder } from "kysely";
import { mostSkew_ms } from "../contract/clock-skew.ts";
import type { Random } from "../contract/clock.ts";
import { limits } from "../contract/limits.ts";
import type { Sql } from "../sql/sql.ts";
import type { Db, DeferredVisitTable, Tables, Tenant } from "./tables.ts";

/**
 * Stores visits that an install may follow. Phones and addresses are stored only as keyed hashes,
 * and each row is deleted when its time is over. A used visit stays until then, and at least for a
 * minute: the same install may ask again, and no other install gets it.
 */

/** A row that ends later was written before a clock was set back, and counts as expired. */
export function findLatestEnd(now: number): number {
  return now + limits.deferred_visit_ms + mostSkew_ms;
}

type VisitExpression = ExpressionBuilder<Tables, "deferred_visits">;

const isOpen = (now: number) => (row: VisitExpression) =>
  row.between("ends_at", now + 1, findLatestEnd(now));

/** What a page's request reports about its visit, or its script, which reports more. */
export type RecordedVisit = {
  readonly visit: Omit<DeferredVisitTable, "used_by" | "told">;
  readonly isWhole: boolean;
};

/**
 * Writes visits. The report of a page's script replaces that of its request, in whichever order
 * they are written. Used visits are not changed. Each visit occurs only once in `noted`.
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

/** With more visits from one address, the phones behind it cannot be distinguished. */
const mostHere = 100;

/** The unused visits from an install's address; none if there are too many. */
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

/** Finds an unused visit by the id that its page gave to the app. */
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

/** The earlier answer to the same install, which may have been lost, with the visit's link. */
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
  /** The answer to the install, as JSON. */
  readonly told: string;
  /** Whether the app named this very visit. */
  readonly isNamed: boolean;
};

/** How long an app may ask again after it got no answer, even if the visit has expired. */
const askedAgain_ms = 60_000;

/**
 * Uses up a visit, and visits of the same link that look the same, because they may come from the
 * same phone. If the app named the visit, the others may come from other phones and stay. Of
 * several callers, in all processes, only one gets true. It is false if the install used another
 * visit meanwhile: otherwise the second of two simultaneous requests would take another person's
 * visit.
 */
export async function takeVisit(
  { db, projectId }: Tenant,
  { id, link_id, whole, address }: DeferredVisitTable,
  { now, usedBy, told, isNamed }: TakeOptions,
): Promise<boolean> {
  const before =
    usedBy === undefined ? undefined : await findEarlierAnswer({ db, projectId }, usedBy, now);
  if (before !== undefined) return false;
  const until = now + askedAgain_ms;
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
  // The address is part of the whole mark, and has an index that finds the few rows.
  await alike.where("address", "=", address).execute();
  return true;
}

/** Deletes expired visits. */
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

/** The key for hashing visits. The first process creates it. */
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
    // Another process may have created it first.
    return (await findSealKey(own)) ?? value;
  });
}

async function findSealKey(db: Db): Promise<string | undefined> {
  const found = db.selectFrom("store_secrets").select("value").where("name", "=", keyName);
  return (await found.executeTakeFirst())?.value;
}
