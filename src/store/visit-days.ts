import { setImmediate } from "node:timers/promises";
import { createCellsWriter, eachCell, readCells, type Cells } from "../stats/cells.ts";
import { isPackedId, packIds, packNumbers, readId, unpackIds } from "../stats/link-ids.ts";
import { createSum, type Sum } from "../stats/sums.ts";
import {
  dayHours,
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

/** By the day of UTC. */
export function splitDays(cells: Cells, read: KindReader): ReadonlyMap<number, Cells> {
  const days = new Map<number, Cells>();
  for (const [id, counts] of cells) {
    for (const [kind, count] of counts) {
      const day = Math.floor(read(kind).hour / dayHours);
      const own = days.get(day) ?? new Map<string, Map<string, number>>();
      days.set(day, own);
      const known = own.get(id);
      if (known === undefined) own.set(id, new Map([[kind, count]]));
      else known.set(kind, count);
    }
  }
  return days;
}

/**
 * Adds visits of one day in the caller's transaction. Only the rows that have, or get, one of the
 * links are written anew: of a day with very many links these are few. Answers what was added, as
 * it is told now: a link's hosts after the hundredth are `other` in all that is kept.
 */
export async function mergeDay(
  tenant: Tenant,
  day: number,
  added: Cells,
  read: KindReader,
): Promise<Cells> {
  // What cannot be packed is no link of ours, and is in no row.
  const ids = [...added.keys()].filter(isPackedId).toSorted();
  const told: Cells = new Map(added);
  if (ids.length === 0) return told;
  const places = placeLinks(await listStarts(tenant, day), ids);
  const old = await selectStarting(tenant, day, [...places.keys()]);
  const rows: VisitDayTable[] = [];
  for (const [start, own] of places) {
    const whole: Cells = new Map();
    const row = old.get(start);
    if (row !== undefined) readDay(row, (id, counts) => whole.set(id, counts));
    for (const id of own) {
      const counts = whole.get(id) ?? new Map<string, number>();
      const cut = cutHosts(counts, added.get(id) ?? new Map(), read);
      for (const [kind, count] of cut) counts.set(kind, (counts.get(kind) ?? 0) + count);
      whole.set(id, counts);
      told.set(id, cut);
    }
    for (const part of partLinks(whole)) {
      rows.push({ project_id: tenant.projectId, day, hourly: 1, ...writeDay(part, read) });
    }
    // Others have their turn; only those who write wait for all of it.
    await setImmediate();
  }
  await replaceRows(tenant, day, [...old.keys()], rows);
  return told;
}

/**
 * By the first id of the row that each belongs to; both are in order. A row goes on to where the
 * next one begins.
 */
function placeLinks(
  starts: readonly string[],
  ids: readonly string[],
): ReadonlyMap<string, readonly string[]> {
  const places = new Map<string, string[]>();
  let place = 0;
  for (const id of ids) {
    while (place + 1 < starts.length && (starts[place + 1] ?? "") <= id) place += 1;
    // What comes before all others belongs to the first row; where there is none, no id is empty.
    const start = starts[place] ?? "";
    const own = places.get(start);
    if (own === undefined) places.set(start, [id]);
    else own.push(id);
  }
  return places;
}

/** Of all rows, from their index alone. */
async function listStarts({ db, projectId }: Tenant, day: number): Promise<readonly string[]> {
  const rows = await db
    .selectFrom("visit_days")
    .select("first_id")
    .where("project_id", "=", projectId)
    .where("day", "=", day)
    .orderBy("first_id")
    .execute();
  return rows.map(({ first_id }) => first_id);
}

async function selectStarting(
  { db, projectId }: Tenant,
  day: number,
  starts: readonly string[],
): Promise<ReadonlyMap<string, DayRow>> {
  const rows = await db
    .selectFrom("visit_days")
    .select(["first_id", "ids", "detail"])
    .where("project_id", "=", projectId)
    .where("day", "=", day)
    .where("first_id", "in", starts)
    .execute();
  return new Map(rows.map(({ first_id, ...row }) => [first_id, row]));
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

/** Answers what is told of a link, once a day has so many hosts: those after them are `other`. */
function cutHosts(
  known: ReadonlyMap<string, number>,
  added: Map<string, number>,
  read: KindReader,
): Map<string, number> {
  if (known.size + added.size <= mostReferrers) return added;
  const hosts = new Set([...known.keys()].map((kind) => read(kind).referrer));
  hosts.delete(undefined);
  hosts.delete(otherReferrers);
  const told = new Map<string, number>();
  for (const [kind, count] of added) {
    const { referrer = otherReferrers } = read(kind);
    const isHost = referrer !== otherReferrers;
    if (isHost && hosts.size < mostReferrers) hosts.add(referrer);
    const own = isHost && !hosts.has(referrer) ? withOtherReferrer(kind) : kind;
    told.set(own, (told.get(own) ?? 0) + count);
  }
  return told;
}

/** Parts of one size: the next links find room in all of them. */
function partLinks(cells: Cells): readonly (readonly [string, ReadonlyMap<string, number>])[][] {
  const links = [...cells].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const size = Math.ceil(links.length / Math.ceil(links.length / mostLinks));
  const parts = [];
  for (let start = 0; start < links.length; start += size) {
    parts.push(links.slice(start, start + size));
  }
  return parts;
}

async function replaceRows(
  { db, projectId }: Tenant,
  day: number,
  old: readonly string[],
  rows: readonly VisitDayTable[],
): Promise<void> {
  if (old.length > 0) {
    await db
      .deleteFrom("visit_days")
      .where("project_id", "=", projectId)
      .where("day", "=", day)
      .where("first_id", "in", old)
      .execute();
  }
  for (let start = 0; start < rows.length; start += insertedAtOnce) {
    const some = rows.slice(start, start + insertedAtOnce);
    await db.insertInto("visit_days").values(some).execute();
    await setImmediate();
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
    writer.startRow("");
    for (const [kind, count] of counts) writer.count(kind, count);
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
