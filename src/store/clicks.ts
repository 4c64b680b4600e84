import { sql, type RawBuilder } from "kysely";
import { prepareBatches } from "./prepared-query.ts";
import type { Db } from "./tables.ts";

export type ClickCount = {
  readonly projectId: string;
  readonly linkId: string;
  readonly clicks: number;
};

/**
 * Adds clicks to their links in the caller's transaction, and outdates the remembered counts of
 * lists filtered by clicks. Clicks of a deleted link are kept in the bin until it is restored.
 */
export async function addClicks(db: Db, clicks: readonly ClickCount[]): Promise<void> {
  const links = new Set((await addToLinks(db, clicks.flatMap(listValues))).map(({ id }) => id));
  const deleted = clicks.filter(({ linkId }) => !links.has(linkId));
  await addToBin(db, deleted.flatMap(listValues));
  await db
    .updateTable("tallies")
    .set(({ eb }) => ({ clicked: eb("clicked", "+", 1) }))
    .where("project_id", "in", [...new Set(clicks.map(({ projectId }) => projectId)), ""])
    .execute();
}

function listValues({ projectId, linkId, clicks }: ClickCount) {
  return [projectId, linkId, clicks];
}

const addToLinks = prepareAdding(
  (visits) => sql`
  ${visits} update links set clicks = clicks + visits.visited from visits
  where links.project_id = visits.project_id and links.id = visits.link_id returning links.id
`,
);

const addToBin = prepareAdding(
  (visits) => sql`
  ${visits} update bin set clicks = clicks + visits.visited from visits
  where bin.project_id = visits.project_id and bin.kind = 'link' and bin.id = visits.link_id
  returning bin.id
`,
);

function prepareAdding(
  write: (visits: RawBuilder<unknown>) => RawBuilder<{ readonly id: string }>,
) {
  const row = sql`(${""}, ${""}, cast(${0} as bigint))`;
  return prepareBatches([100, 10, 1], row, (rows) =>
    write(sql`with visits (project_id, link_id, visited) as (values ${rows})`),
  );
}
