import { addCell, addCells, writeCells, type Cells } from "../stats/cells.ts";
import { otherReferrers } from "../stats/visit.ts";
import type { KindReader } from "./visit-days.ts";
import type { Tenant } from "./tenant.ts";

/** All visits of a project, so that nobody has to go through its links for them. */

/** Of all its links together; a link's own are counted to a hundred. */
const mostReferrers = 1000;

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
  const body = writeCells(cells);
  await db
    .insertInto("visit_totals")
    .values({ project_id: projectId, day, hourly: 1, body })
    .onConflict((conflict) => conflict.columns(["project_id", "day"]).doUpdateSet({ body }))
    .execute();
}

/** By the hour: `click`, and `click platform ios` and the like; presses of buttons stand apart. */
export function addTotals(cells: Cells, added: Cells, read: KindReader): void {
  const referrers = new Set([...cells.values()].flatMap((counts) => listReferrers(counts.keys())));
  for (const counts of added.values()) {
    for (const [text, count] of counts) {
      const { hour, what, platform, source, country, referrer, isPress } = read(text);
      const row = String(hour);
      if (!isPress) {
        if (referrer !== undefined && referrers.size < mostReferrers) referrers.add(referrer);
        const isNamed = referrer === undefined || referrers.has(referrer);
        addCell(cells, row, what, count);
        addCell(cells, row, `${what} platform ${platform}`, count);
        addCell(
          cells,
          row,
          `${what} referrer ${isNamed ? (referrer ?? "") : otherReferrers}`,
          count,
        );
        addCell(cells, row, `${what} country ${country ?? ""}`, count);
      }
      addCell(cells, row, `${what} source ${source}`, count);
    }
  }
}

function listReferrers(kinds: Iterable<string>): readonly string[] {
  return [...kinds].flatMap((kind) => {
    const [, fact, value = ""] = kind.split(" ");
    return fact === "referrer" && value !== "" ? [value] : [];
  });
}
