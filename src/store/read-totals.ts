import { setImmediate } from "node:timers/promises";
import { eachCell, readCells, type Cells } from "../stats/cells.ts";
import { addUp, type Days } from "./read-visits.ts";
import type { Tenant } from "./tenant.ts";
import { createKindReader, splitDays } from "./visit-days.ts";
import { listBatches, readBatches } from "./visit-batches.ts";
import { addTotals, joinHosts } from "./visit-totals.ts";

/** Of a day with very many hosts, so many are some megabytes. */
const daysAtOnce = 31;
/** So many sums of what waits are held before a day's rarest hosts are put together. */
const mostHeld = 50_000;

/** Some of the visits that waited came to be in the sums while both were read. */
export class FoldedMeanwhile extends Error {
  override readonly name = "FoldedMeanwhile";
}

type Take = (hour: number, kind: string, count: number) => void;

/**
 * Calls `take` with each sum of an hour: `click`, `click platform ios` and the like. What still
 * waits to be put together is added here, and stays where it is: to write it down link by link
 * costs far more than all sums of a year. Its hosts are not yet cut link by link, only the day's.
 *
 * Both are read a few rows at a time. What waits is never changed, but taken away together with
 * what it adds to the sums: where all of it is still there in the end, none was counted twice nor
 * left out; else it throws FoldedMeanwhile. As of one moment, as in a long read, it never does.
 */
export async function readTotals(tenant: Tenant, days: Days, take: Take): Promise<void> {
  const ids = await listBatches(tenant);
  for (const cells of await addUpWaiting(tenant, days, ids)) {
    for (const [hour, counts] of cells) {
      for (const [kind, count] of counts) take(Number(hour), kind, count);
    }
    await setImmediate();
  }
  for await (const { body } of selectTotals(tenant, days)) {
    const { kinds, rows } = readCells(body);
    for (const row of rows) {
      eachCell(row, (kind, count) => take(Number(row[0]), kinds[kind] ?? "", count));
    }
    await setImmediate();
  }
  if (ids.length === 0) return;
  const left = new Set(await listBatches(tenant));
  if (!ids.every((id) => left.has(id))) throw new FoldedMeanwhile("others have put them together");
}

/** Day by day, as the sums are kept. */
async function addUpWaiting(
  tenant: Tenant,
  { first, last }: Days,
  ids: readonly string[],
): Promise<Iterable<Cells>> {
  const days = new Map<number, Cells>();
  // Hosts that a stranger makes up must not fill the memory, nor hide one that comes once in each.
  const join = () => {
    for (const cells of days.values()) joinHosts(cells);
  };
  let held = 0;
  for await (const bodies of readBatches(tenant, ids)) {
    if (bodies === undefined) throw new FoldedMeanwhile("others have put some together");
    const read = createKindReader();
    for (const body of bodies) {
      const { kinds, rows } = readCells(body);
      const counts = new Map<string, number>();
      addUp(kinds, rows, (kind, count) => counts.set(kind, count));
      for (const [day, added] of splitDays(new Map([["", counts]]), read)) {
        if (day < first || day > last) continue;
        const cells: Cells = days.get(day) ?? new Map();
        days.set(day, cells);
        addTotals(cells, added, read);
      }
      held += counts.size;
      if (held > mostHeld) {
        join();
        held = 0;
      }
      await setImmediate();
    }
  }
  join();
  return days.values();
}

async function* selectTotals({ db, projectId }: Tenant, { first, last }: Days) {
  for (let from = first; ;) {
    const rows = await db
      .selectFrom("visit_totals")
      .select(["day", "body"])
      .where("project_id", "=", projectId)
      .where("day", ">=", from)
      .where("day", "<=", last)
      .orderBy("day")
      .limit(daysAtOnce)
      .execute();
    yield* rows;
    const end = rows.at(-1);
    if (end === undefined || rows.length < daysAtOnce) return;
    from = end.day + 1;
  }
}
