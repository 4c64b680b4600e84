import type { Sql } from "../sql/sql.ts";
import type { DeferredVisitTable } from "./deferred-visit-table.ts";
import type { Tables } from "./tables.ts";
import type { Db, Tenant } from "./tenant.ts";

/**
 * Visits of links' pages that an install may follow. Of phones and addresses there are keyed hashes
 * alone, and each row goes with the install that it is used for, or when its time is over.
 */

/**
 * What the request of a page has told is noted where nothing is yet; what its script tells takes
 * the place of that, whichever of the two is written first.
 */
export async function writeVisit(
  db: Db,
  visit: DeferredVisitTable,
  isWhole: boolean,
): Promise<void> {
  const { project_id: _project, id: _id, ends_at: _end, link_id: _link, ...told } = visit;
  await db
    .insertInto("deferred_visits")
    .values(visit)
    .onConflict((conflict) => {
      const known = conflict.columns(["project_id", "id"]);
      if (!isWhole) return known.doNothing();
      return known.doUpdateSet(told).where("deferred_visits.link_id", "=", visit.link_id);
    })
    .execute();
}

type Asked = {
  readonly address: string | undefined;
  readonly look: string | undefined;
  readonly now: number;
};

export type FoundVisits = {
  /** Those from where the install asks, and those of phones that look like it. */
  readonly alike: readonly DeferredVisitTable[];
  /** The project's latest, by which it is known how many look alike. */
  readonly recent: readonly DeferredVisitTable[];
};

/** More from one address, or of one look, and nobody could be told from anybody. */
export const mostAlike = 100;
export const mostRecent = 500;

export async function findVisits(
  { db, projectId }: Tenant,
  { address, look, now }: Asked,
): Promise<FoundVisits> {
  const waiting = () =>
    db
      .selectFrom("deferred_visits")
      .selectAll()
      .where("project_id", "=", projectId)
      .where("ends_at", ">", now)
      .orderBy("ends_at", "desc");
  const [here, likeIt, recent] = await Promise.all([
    address === undefined
      ? []
      : waiting().where("address", "=", address).limit(mostAlike).execute(),
    look === undefined ? [] : waiting().where("look", "=", look).limit(mostAlike).execute(),
    waiting().limit(mostRecent).execute(),
  ]);
  const all = new Map([...here, ...likeIt].map((visit) => [visit.id, visit]));
  return { alike: [...all.values()], recent };
}

/** A visit that still waits, by what its page names it. */
export async function findWaiting(
  { db, projectId }: Tenant,
  id: string,
  now: number,
): Promise<DeferredVisitTable | undefined> {
  const query = db.selectFrom("deferred_visits").selectAll().where("project_id", "=", projectId);
  return query.where("id", "=", id).where("ends_at", ">", now).executeTakeFirst();
}

/**
 * Uses a visit, and with it those that look the same and led to the same place, for they may be of
 * the same phone; one that was named goes by itself, for they may be of others. True for one caller
 * alone, whichever process it is in.
 */
export async function takeVisit(
  { db, projectId }: Tenant,
  { id, link_id, query, whole }: DeferredVisitTable,
  { now, isNamed }: { readonly now: number; readonly isNamed: boolean },
): Promise<boolean> {
  const taken = await db
    .deleteFrom("deferred_visits")
    .where("project_id", "=", projectId)
    .where("ends_at", ">", now)
    .where((row) => {
      const own = row("id", "=", id);
      if (isNamed) return own;
      const alike = [row("link_id", "=", link_id), row("query", "=", query)];
      return row.or([own, row.and([...alike, row("whole", "=", whole)])]);
    })
    .executeTakeFirst();
  return taken.numDeletedRows > 0n;
}

/** Forgets what no install can be matched with any more. */
export async function dropEndedVisits(
  { db, write }: Pick<Sql<Tables>, "db" | "write">,
  now: number,
): Promise<void> {
  const ended = db.selectFrom("deferred_visits").select("id").where("ends_at", "<=", now);
  if ((await ended.limit(1).executeTakeFirst()) === undefined) return;
  await write((tx) => tx.deleteFrom("deferred_visits").where("ends_at", "<=", now).execute(), {
    isPatient: true,
  });
}
