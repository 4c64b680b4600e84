import { addCell, addCells, writeCells, type Cells } from "../stats/cells.ts";
import { otherReferrers, withOtherReferrer } from "../stats/visit.ts";
import type { KindReader } from "./visit-days.ts";
import type { Tenant } from "./tenant.ts";

/** All visits of a project, so that nobody has to go through its links for them. */

/** Hosts of a day, those with the most visits: a link has a hundred, and there are many links. */
const mostReferrers = 1000;
const ofReferrer = "referrer";

/** Adds visits of one day in the caller's transaction. */
export async function mergeTotals(
  { db, projectId }: Tenant,
  day: number,
  added: Cells,
  read: KindReader,
): Promise<void> {
  const known = await db
    .selectFrom("visit_totals")
    .select("body")
    .where("project_id", "=", projectId)
    .where("day", "=", day)
    .executeTakeFirst();
  const cells: Cells = new Map();
  if (known !== undefined) addCells(cells, known.body);
  addTotals(cells, added, read);
  joinHosts(cells);
  const body = writeCells(cells);
  await db
    .insertInto("visit_totals")
    .values({ project_id: projectId, day, hourly: 1, body })
    .onConflict((conflict) => conflict.columns(["project_id", "day"]).doUpdateSet({ body }))
    .execute();
}

/** By the hour: `click`, and `click platform ios` and the like; presses of buttons stand apart. */
export function addTotals(cells: Cells, added: Cells, read: KindReader): void {
  for (const counts of added.values()) {
    for (const [text, count] of counts) {
      const { hour, what, platform, source, country = "", referrer = "", isPress } = read(text);
      const row = String(hour);
      if (!isPress) {
        addCell(cells, row, what, count);
        addCell(cells, row, `${what} platform ${platform}`, count);
        addCell(cells, row, `${what} ${ofReferrer} ${referrer}`, count);
        addCell(cells, row, `${what} country ${country}`, count);
      }
      addCell(cells, row, `${what} source ${source}`, count);
    }
  }
}

/** Where a day has too many hosts, those with the fewest visits become `other`. */
export function joinHosts(cells: Cells): void {
  const sums = new Map<string, number>();
  for (const counts of cells.values()) {
    for (const [kind, count] of counts) {
      const host = findHost(kind);
      if (host !== undefined) sums.set(host, (sums.get(host) ?? 0) + count);
    }
  }
  if (sums.size <= mostReferrers) return;
  const sorted = [...sums].toSorted(([, one], [, other]) => other - one);
  const joined = new Set(sorted.slice(mostReferrers).map(([host]) => host));
  for (const [row, counts] of cells) {
    for (const [kind, count] of counts) {
      if (!joined.has(findHost(kind) ?? "")) continue;
      counts.delete(kind);
      addCell(cells, row, withOtherReferrer(kind), count);
    }
  }
}

function findHost(kind: string): string | undefined {
  const [, fact, host = ""] = kind.split(" ");
  return fact === ofReferrer && host !== "" && host !== otherReferrers ? host : undefined;
}
