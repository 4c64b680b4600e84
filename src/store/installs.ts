import { sql, type ExpressionBuilder } from "kysely";
import { mostSkew_ms } from "../contract/clock-skew.ts";
import type { Random } from "../contract/clock.ts";
import { limits } from "../contract/limits.ts";
import type { Sql } from "../sql/sql.ts";
import type { Db, DeferredVisitTable, Tables, Tenant } from "./tables.ts";

/**
 * Visits of links' pages that an install may follow. Phones and addresses are only here as keyed
 * hashes, and each row is deleted when its time is over. A visit that an install has used stays
 * until then, and for a minute at least: that install may ask again, and no other one gets it.
 */

/** A row that ends later was written before a clock was set back, and is over. */
export function findLatestEnd(now: number): number {
  return now + limits.deferred_visit_ms + mostSkew_ms;
}

type Row = ExpressionBuilder<Tables, "deferred_visits">;

const isOpen = (now: number) => (row: Row) => row.between("ends_at", now + 1, findLatestEnd(now));

/** What a page's request says of its visit, or its script, which says more. */
export type Noted = {
  readonly visit: Omit<DeferredVisitTable, "used_by" | "told">;
  readonly isWhole: boolean;
};

/**
 * What a page's script reports replaces what its request has reported, whichever of the two is
 * written first. A used visit is not changed. No two are of one visit.
 */
export async function writeVisits(db: Db, noted: readonly Noted[]): Promise<void> {
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

/** With more visits from one address, phones behind it cannot be distinguished. */
const mostHere = 100;

/** The unused visits from the address of an install; none where there are too many. */
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

/** An unused visit by the ID that its page has given to the app. */
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

/** What this install was answered before, with the visit's link: the answer may have been lost. */
export async function findTold(
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

type Use = {
  readonly now: number;
  readonly usedBy: string | undefined;
  /** The answer to the install, as JSON. */
  readonly told: string;
  /** Whether the app has named that very visit. */
  readonly isNamed: boolean;
};

/** An app that got no answer asks again within this time, even if the visit is over by then. */
const askedAgain_ms = 60_000;

/**
 * Uses a visit, and with it those that look the same and were of the same link, for they may be of
 * the same phone; not with a named one, for they may be of others. True for one caller only,
 * whichever process it is in, and false for an install that has used another visit meanwhile: of
 * two simultaneous requests of one install, the second would take somebody else's visit.
 */
export async function takeVisit(
  { db, projectId }: Tenant,
  { id, link_id, whole, address }: DeferredVisitTable,
  { now, usedBy, told, isNamed }: Use,
): Promise<boolean> {
  const before = usedBy === undefined ? undefined : await findTold({ db, projectId }, usedBy, now);
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
  // The address is a part of the whole: an index finds the few rows by it.
  await alike.where("address", "=", address).execute();
  return true;
}

/** Deletes visits that no install can be matched with any more. */
export async function dropEndedVisits(
  { write }: Pick<Sql<Tables>, "write">,
  now: number,
): Promise<void> {
  const isOver = (row: Row) =>
    row.or([row("ends_at", "<=", now), row("ends_at", ">", findLatestEnd(now))]);
  await write((db) => db.deleteFrom("deferred_visits").where(isOver).execute(), {
    isPatient: true,
  });
}

const key_bytes = 32;
const keyName = "deferred visits";

/** The key with which visits are hashed that an install may follow; the first process makes it. */
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
    // Another process may have been the first.
    return (await findSealKey(own)) ?? value;
  });
}

async function findSealKey(db: Db): Promise<string | undefined> {
  const found = db.selectFrom("store_secrets").select("value").where("name", "=", keyName);
  return (await found.executeTakeFirst())?.value;
}
