import { sql } from "kysely";
import { setImmediate } from "node:timers/promises";
import type { Db } from "./tenant.ts";

/** How often a link was visited since it was last written down. */
export type ClickCount = {
  readonly projectId: string;
  readonly linkId: string;
  readonly count: number;
};

/** Statements of few sizes stay prepared; a thousand sizes would push each other out. */
const batchSizes = [100, 10, 1];

/**
 * Adds visits to their links in the caller's transaction, and ends the kept counts of links by
 * clicks. Visits of a link that was deleted meanwhile wait for it in the bin.
 */
export async function addClicks(db: Db, clicks: readonly ClickCount[]): Promise<void> {
  let left = clicks;
  while (left.length > 0) {
    const size = batchSizes.find((fitting) => fitting <= left.length) ?? left.length;
    await addBatch(db, left.slice(0, size));
    left = left.slice(size);
    // Every row may write a page of the file, and a visitor must not wait for all of them.
    await setImmediate();
  }
  await db
    .updateTable("tallies")
    .set(({ eb }) => ({ clicked: eb("clicked", "+", 1) }))
    .where("project_id", "in", [...new Set(clicks.map(({ projectId }) => projectId)), ""])
    .execute();
}

async function addBatch(db: Db, clicks: readonly ClickCount[]): Promise<void> {
  const rows = clicks.map(
    ({ projectId, linkId, count }) => sql`(${projectId}, ${linkId}, cast(${count} as bigint))`,
  );
  const visits = sql`
    with visits (project_id, link_id, visited) as (values ${sql.join(rows)})
  `;
  const { numAffectedRows = 0n } = await sql`
    ${visits} update links set clicks = clicks + visits.visited from visits
    where links.project_id = visits.project_id and links.id = visits.link_id
  `.execute(db);
  if (numAffectedRows === BigInt(clicks.length)) return;
  await sql`
    ${visits} update bin set clicks = clicks + visits.visited from visits
    where bin.project_id = visits.project_id and bin.kind = 'link' and bin.id = visits.link_id
  `.execute(db);
}
