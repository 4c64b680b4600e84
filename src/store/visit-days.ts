import { setImmediate } from "node:timers/promises";
import { createCellsWriter, eachCell, readCells, type Cells } from "../stats/cells.ts";
import { isPackedId, packIds, packNumbers, readId, unpackIds } from "../stats/link-ids.ts";
import { createSum, type Sum } from "../stats/sums.ts";
import {
  otherReferrers,
  readKind,
  visitEvents,
  withOtherReferrer,
  type Kind,
} from "../stats/visit.ts";
import type { VisitDayTable } from "./tables.ts";
import type { Tenant } from "./tenant.ts";

/** The visits of links, day by day: what is asked of one link, of some, or by link. */

/** A row has so many links; where it gets more, it is parted. */
const mostLinks = 256;
/** Each may be the choice of a stranger. */
const mostReferrers = 100;
const insertedAtOnce = 50;

/** What is known of each kind is read once, for many links have the same. */
export type KindReader = (kind: string) => Kind;

export function createKindReader(): KindReader {
  const known = new Map<string, Kind>();
  return (text) => {
    const kind = known.get(text) ?? readKind(text);
    known.set(text, kind);
    return kind;
  };
}

/** Adds visits of one day in the caller's transaction. */
export async function mergeDay(
  tenant: Tenant,
  day: number,
  added: Cells,
  read: KindReader,
): Promise<void> {
  const ids = [...added.keys()].filter(isPackedId).toSorted();
  const [first, last] = [ids[0], ids.at(-1)];
  if (first === undefined || last === undefined) return;
  const rows = await selectAround(tenant, day, first, last);
  const whole: Cells = new Map();
  for (const row of rows) {
    readDay(row, (id, counts) => whole.set(id, counts));
    // Others have their turn; only those who write wait for all of it.
    await setImmediate();
  }
  for (const id of ids) addLink(whole, id, added.get(id) ?? new Map(), read);
  await deleteRows(tenant, day, rows);
  await insertRows(tenant, day, whole, read);
}

/** Those that overlap, and the one before them: it may have room. */
async function selectAround({ db, projectId }: Tenant, day: number, first: string, last: string) {
  const before = await db
    .selectFrom("visit_days")
    .select("first_id")
    .where("project_id", "=", projectId)
    .where("day", "=", day)
    .where("first_id", "<=", first)
    .orderBy("first_id", "desc")
    .limit(1)
    .executeTakeFirst();
  return db
    .selectFrom("visit_days")
    .select(["first_id", "ids", "detail"])
    .where("project_id", "=", projectId)
    .where("day", "=", day)
    .where("first_id", ">=", before?.first_id ?? first)
    .where("first_id", "<=", last)
    .orderBy("first_id")
    .execute();
}

type DayRow = Pick<VisitDayTable, "ids" | "detail">;

/** Calls `take` for each link of a row. */
export function readDay(
  { ids, detail }: DayRow,
  take: (id: string, counts: Map<string, number>) => void,
): void {
  const packed = unpackIds(ids);
  const { kinds, rows } = readCells(detail);
  for (const [place, row] of rows.entries()) {
    const counts = new Map<string, number>();
    eachCell(row, (kind, count) => counts.set(kinds[kind] ?? "", count));
    take(readId(packed, place), counts);
  }
}

function addLink(
  whole: Cells,
  id: string,
  added: ReadonlyMap<string, number>,
  read: KindReader,
): void {
  const counts = whole.get(id) ?? new Map<string, number>();
  whole.set(id, counts);
  const isFew = counts.size + added.size <= mostReferrers;
  const referrers = new Set(isFew ? [] : [...counts.keys()].map((kind) => read(kind).referrer));
  referrers.delete(undefined);
  referrers.delete(otherReferrers);
  for (const [kind, count] of added) {
    const { referrer } = isFew ? {} : read(kind);
    const isTold = referrer === undefined || referrers.has(referrer);
    if (!isTold && referrers.size < mostReferrers) referrers.add(referrer);
    const told = isTold || referrers.has(referrer) ? kind : withOtherReferrer(kind);
    counts.set(told, (counts.get(told) ?? 0) + count);
  }
}

async function deleteRows(
  { db, projectId }: Tenant,
  day: number,
  rows: readonly Pick<VisitDayTable, "first_id">[],
): Promise<void> {
  if (rows.length === 0) return;
  await db
    .deleteFrom("visit_days")
    .where("project_id", "=", projectId)
    .where("day", "=", day)
    .where(
      "first_id",
      "in",
      rows.map(({ first_id }) => first_id),
    )
    .execute();
}

async function insertRows(
  { db, projectId }: Tenant,
  day: number,
  cells: Cells,
  read: KindReader,
): Promise<void> {
  const ids = [...cells.keys()].toSorted();
  // Parts of one size: the next links find room in all of them.
  const parts = Math.ceil(ids.length / mostLinks);
  const size = Math.ceil(ids.length / parts);
  let rows: VisitDayTable[] = [];
  for (let start = 0; start < ids.length; start += size) {
    const own = ids
      .slice(start, start + size)
      .map((id) => [id, cells.get(id) ?? new Map()] as const);
    rows.push({ project_id: projectId, day, hourly: 1, ...writeDay(own, read) });
    await setImmediate();
    if (rows.length < insertedAtOnce && start + size < ids.length) continue;
    await db.insertInto("visit_days").values(rows).execute();
    rows = [];
  }
}

/** Links in the order of their ids. */
export function writeDay(
  links: readonly (readonly [string, ReadonlyMap<string, number>])[],
  read: KindReader,
): Omit<VisitDayTable, "project_id" | "day" | "hourly"> {
  const writer = createCellsWriter();
  const sums: number[] = [];
  for (const [, counts] of links) {
    writer.add("", counts);
    const sum = sumUp(counts, read);
    sums.push(...visitEvents.map((what) => sum[what]));
  }
  const ids = links.map(([id]) => id);
  return {
    first_id: ids[0] ?? "",
    last_id: ids.at(-1) ?? "",
    ids: packIds(ids),
    sums: packNumbers(sums),
    detail: writer.write(),
  };
}

function sumUp(counts: ReadonlyMap<string, number>, read: KindReader): Sum {
  const sum = createSum();
  for (const [kind, count] of counts) {
    const { what, isPress } = read(kind);
    if (!isPress) sum[what] += count;
  }
  return sum;
}
