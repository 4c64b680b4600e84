import type { ExpressionBuilder } from "kysely";
import { mostSkew_ms } from "../contract/clock-skew.ts";
import { limits } from "../contract/limits.ts";
import type { Sql } from "../sql/sql.ts";
import type { DeferredVisitTable, NotedVisit } from "./deferred-visit-table.ts";
import type { Tables } from "./tables.ts";
import type { Db, Tenant } from "./tenant.ts";

/**
 * Visits of links' pages that an install may follow. Of phones and addresses there are keyed hashes
 * alone, and each row goes when its time is over. One that an install was told of stays until then
 * as well, and for a minute at least: that install may ask again, and nobody else gets it.
 */

/** What is said to end later was noted before a clock was put back, and is over. */
export function findLatestEnd(now: number): number {
  return now + limits.deferred_visit_ms + mostSkew_ms;
}

type Row = ExpressionBuilder<Tables, "deferred_visits">;

function isWaiting(row: Row, now: number) {
  return row.and([row("told", "is", null), isOpen(row, now)]);
}

function isOpen(row: Row, now: number) {
  return row.between("ends_at", now + 1, findLatestEnd(now));
}

/** An app that got no answer asks again within so long, be the visit over by then or not. */
const askedAgain_ms = 60_000;

/** A statement has room for so many values. */
const rowsAtOnce = 500;

/** What a page's request tells of its visit, or its script, which tells more. */
export type Noted = {
  readonly visit: NotedVisit;
  readonly isWhole: boolean;
};

/**
 * What the request of a page has told is noted where nothing is yet; what its script tells takes
 * the place of that, whichever of the two is written first. A used visit is not changed. No two are
 * of one visit.
 */
export async function writeVisits(db: Db, noted: readonly Noted[]): Promise<void> {
  for (const isWhole of [false, true]) {
    const visits = noted.flatMap((one) => (one.isWhole === isWhole ? [one.visit] : []));
    for (let start = 0; start < visits.length; start += rowsAtOnce) {
      const insert = db
        .insertInto("deferred_visits")
        .values(visits.slice(start, start + rowsAtOnce));
      await insert
        .onConflict((conflict) => {
          const known = conflict.columns(["project_id", "id"]);
          return isWhole ? known.doUpdateSet(takeTold).where(isUnused) : known.doNothing();
        })
        .execute();
    }
  }
}

type Written = ExpressionBuilder<
  Tables & { readonly excluded: DeferredVisitTable },
  "deferred_visits" | "excluded"
>;

function takeTold(row: Written) {
  return {
    query: row.ref("excluded.query"),
    address: row.ref("excluded.address"),
    is_shared: row.ref("excluded.is_shared"),
    whole: row.ref("excluded.whole"),
    marks: row.ref("excluded.marks"),
  };
}

function isUnused(row: Written) {
  return row("deferred_visits.told", "is", null);
}

type Asked = {
  readonly address: string;
  readonly now: number;
};

/** With more visits from one address, phones behind it cannot be distinguished. */
const mostHere = 100;

/** Those that still wait, from where the install asks; none where there are too many. */
export async function findVisits(
  { db, projectId }: Tenant,
  { address, now }: Asked,
): Promise<readonly DeferredVisitTable[]> {
  const found = await db
    .selectFrom("deferred_visits")
    .selectAll()
    .where("project_id", "=", projectId)
    .where("address", "=", address)
    .where((row) => isWaiting(row, now))
    .orderBy("ends_at", "desc")
    .limit(mostHere + 1)
    .execute();
  return found.length > mostHere ? [] : found;
}

/** A visit that still waits, by what its page names it. */
export async function findWaiting(
  { db, projectId }: Tenant,
  id: string,
  now: number,
): Promise<DeferredVisitTable | undefined> {
  const query = db.selectFrom("deferred_visits").selectAll().where("project_id", "=", projectId);
  return query
    .where("id", "=", id)
    .where((row) => isWaiting(row, now))
    .executeTakeFirst();
}

/** What an install was told, and of which visit's link. */
export type Told = {
  readonly link_id: string;
  readonly told: string;
};

/** What this very install was told before, whose answer may have been lost. */
export async function findTold(
  { db, projectId }: Tenant,
  usedBy: string,
  now: number,
): Promise<Told | undefined> {
  const found = await db
    .selectFrom("deferred_visits")
    .select(["link_id", "told"])
    .where("project_id", "=", projectId)
    .where("used_by", "=", usedBy)
    .where((row) => isOpen(row, now))
    .orderBy("ends_at", "desc")
    .executeTakeFirst();
  const told = found?.told ?? undefined;
  return found && told !== undefined ? { link_id: found.link_id, told } : undefined;
}

type Use = {
  readonly now: number;
  readonly usedBy: string | undefined;
  readonly told: string;
  /** Whether the app has named that very visit. */
  readonly isNamed: boolean;
};

/**
 * Uses a visit, and with it those that look the same and led to the same link, for they may be of
 * the same phone; one that was named goes by itself, for they may be of others. True for one caller
 * alone, whichever process it is in, and not for who was told of another one meanwhile: of two
 * requests of one install that run beside each other, the second would take somebody else's.
 */
export async function takeVisit(
  { db, projectId }: Tenant,
  { id, link_id, whole, address }: DeferredVisitTable,
  { now, usedBy, told, isNamed }: Use,
): Promise<boolean> {
  const before = usedBy === undefined ? undefined : await findTold({ db, projectId }, usedBy, now);
  if (before !== undefined) return false;
  const use = () =>
    db
      .updateTable("deferred_visits")
      .set((row) => ({
        used_by: usedBy ?? null,
        told,
        ends_at: row
          .case()
          .when("ends_at", ">", now + askedAgain_ms)
          .then(row.ref("ends_at"))
          .else(now + askedAgain_ms)
          .end(),
      }))
      .where("project_id", "=", projectId)
      .where((row) => isWaiting(row, now));
  const { numUpdatedRows } = await use().where("id", "=", id).executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  if (isNamed) return true;
  const alike = use().where("link_id", "=", link_id).where("whole", "=", whole);
  // The address is a part of the whole: an index finds the few rows by it.
  await alike.where("address", "=", address).execute();
  return true;
}

/** Forgets what no install can be matched with any more. */
export async function dropEndedVisits(
  { db, write }: Pick<Sql<Tables>, "db" | "write">,
  now: number,
): Promise<void> {
  const isOver = (row: Row) =>
    row.or([row("ends_at", "<=", now), row("ends_at", ">", findLatestEnd(now))]);
  const ended = db.selectFrom("deferred_visits").select("id").where(isOver);
  if ((await ended.limit(1).executeTakeFirst()) === undefined) return;
  await write((tx) => tx.deleteFrom("deferred_visits").where(isOver).execute(), {
    isPatient: true,
  });
}
