import { setImmediate } from "node:timers/promises";
import { eachCell, readCells } from "../stats/cells.ts";
import { unpackIds, unpackNumbers } from "../stats/link-ids.ts";
import type { LinkSums } from "../stats/link-sums.ts";
import type { Kind } from "../stats/visit.ts";
import type { Tenant } from "./tenant.ts";
import { createKindReader, readDay } from "./visit-days.ts";

/** What is kept of visits, read day by day: the days are those of UTC, and both ends are read. */
export type Days = { readonly first: number; readonly last: number };

/** Calls `take` with each sum of an hour: `click`, `click platform ios` and the like. */
export async function readTotals(
  { db, projectId }: Tenant,
  { first, last }: Days,
  take: (hour: number, kind: string, count: number) => void,
): Promise<void> {
  const rows = await db
    .selectFrom("visit_totals")
    .select("body")
    .where("project_id", "=", projectId)
    .where("day", ">=", first)
    .where("day", "<=", last)
    .execute();
  for (const { body } of rows) {
    const { kinds, rows: hours } = readCells(body);
    for (const hour of hours) {
      const at = Number(hour[0]);
      eachCell(hour, (kind, count) => take(at, kinds[kind] ?? "", count));
    }
  }
}

/** Calls `take` with every count of the links; without `ids`, of all there are. */
export async function readDetails(
  { db, projectId }: Tenant,
  { first, last }: Days,
  ids: ReadonlySet<string> | undefined,
  take: (id: string, kind: Kind, count: number) => void,
): Promise<void> {
  if (ids?.size === 0) return;
  const [from, to] = findEnds(ids);
  for (let day = first; day <= last; day += 1) {
    let query = db
      .selectFrom("visit_days")
      .select(["ids", "detail"])
      .where("project_id", "=", projectId)
      .where("day", "=", day);
    if (to !== undefined) query = query.where("first_id", "<=", to);
    if (from !== undefined) query = query.where("last_id", ">=", from);
    const rows = await query.execute();
    const read = createKindReader();
    for (const row of rows) {
      readDay(row, (id, counts) => {
        if (ids?.has(id) === false) return;
        for (const [text, count] of counts) take(id, read(text), count);
      });
      await setImmediate();
    }
  }
}

function findEnds(ids: ReadonlySet<string> | undefined): readonly (string | undefined)[] {
  if (ids === undefined) return [];
  const sorted = [...ids].toSorted();
  return [sorted[0], sorted.at(-1)];
}

/** Adds up the links' sums of whole days. */
export async function readSums(
  { db, projectId }: Tenant,
  { first, last }: Days,
  sums: LinkSums,
): Promise<void> {
  for (let day = first; day <= last; day += 1) {
    const rows = await db
      .selectFrom("visit_days")
      .select(["ids", "sums"])
      .where("project_id", "=", projectId)
      .where("day", "=", day)
      .execute();
    for (const row of rows) {
      sums.add(unpackIds(row.ids), unpackNumbers(row.sums));
    }
    // Others have their turn.
    await setImmediate();
  }
}
