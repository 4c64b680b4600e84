import { setImmediate } from "node:timers/promises";
import { eachCell, readCells, type ReadCells } from "../stats/cells.ts";
import { idWords, packNumbers, readIdWords, unpackIds } from "../stats/link-ids.ts";
import type { LinkSet } from "../stats/link-set.ts";
import type { LinkRow } from "../stats/link-sums.ts";
import { readKind, visitEvents, type Kind } from "../stats/visit.ts";
import type { Tenant } from "./tenant.ts";
import type { VisitDayTable } from "./tables.ts";
import { createKindReader } from "./visit-days.ts";

/** What is kept of visits, read day by day: the days are those of UTC, and both ends are read. */
export type Days = { readonly first: number; readonly last: number };

/** Rows of many links that are read at once: some megabytes. */
const rowsAtOnce = 256;

/** Calls `take` with the counts of these links, those of many at once. */
export async function readDetails(
  tenant: Tenant,
  days: Days,
  links: LinkSet,
  take: (kind: Kind, count: number) => void,
): Promise<void> {
  if (links.size === 0) return;
  for await (const rows of readDetailRows(tenant, { days, ends: links.ends })) {
    const read = createKindReader();
    for (const row of rows) {
      addRow(row, links, (kind, count) => take(read(kind), count));
      await setImmediate();
    }
  }
}

/** What is told of a row whose links nobody asks for is not taken apart. */
function addRow(
  { ids, detail }: Pick<VisitDayTable, "ids" | "detail">,
  links: LinkSet,
  take: (kind: string, count: number) => void,
): void {
  const all = readIdWords(unpackIds(ids));
  const places: number[] = [];
  for (let at = 0; at < all.length; at += idWords) {
    if (links.has(all, at)) places.push(at / idWords);
  }
  if (places.length === 0) return;
  const { kinds, rows } = readCells(detail);
  addUp(
    kinds,
    places.map((place) => rows[place] ?? [""]),
    take,
  );
}

/** Calls `take` with each kind's count in all of these rows. */
export function addUp(
  kinds: ReadCells["kinds"],
  rows: ReadCells["rows"],
  take: (kind: string, count: number) => void,
): void {
  const counts = kinds.map(() => 0);
  for (const row of rows) {
    eachCell(row, (kind, count) => {
      counts[kind] = (counts[kind] ?? 0) + count;
    });
  }
  for (const [place, kind] of kinds.entries()) {
    const count = counts[place] ?? 0;
    if (count > 0) take(kind, count);
  }
}

/** The rows that can have links with these ids. */
export function selectRows(tenant: Tenant, { first, last }: Days, ends: LinkSet["ends"]) {
  return selectUpTo(tenant, last, ends).where("day", ">=", first);
}

function selectUpTo({ db, projectId }: Tenant, last: number, ends: LinkSet["ends"]) {
  const query = db
    .selectFrom("visit_days")
    .where("project_id", "=", projectId)
    .where("day", "<=", last);
  if (ends === undefined) return query;
  return query.where("first_id", "<=", ends[1]).where("last_id", ">=", ends[0]);
}

/** The visits of some links, the first of whose ids is this one. */
export type SumsRow = { readonly first_id: string } & LinkRow;

export type Wanted = {
  readonly days: Days;
  /** Of the ids of the links that are meant. */
  readonly ends: LinkSet["ends"];
};

/** The sums of the hours of a day that are meant. */
export async function readPartOfDay(
  tenant: Tenant,
  wanted: Wanted,
  isMeant: (hour: number) => boolean,
): Promise<readonly SumsRow[]> {
  const parts: SumsRow[] = [];
  for await (const rows of readDetailRows(tenant, wanted)) {
    for (const { first_id, ids, detail } of rows) {
      parts.push({ first_id, ids, sums: packNumbers(sumUp(readCells(detail), isMeant)) });
      await setImmediate();
    }
  }
  return parts;
}

type DetailRow = Pick<VisitDayTable, "day" | "first_id" | "ids" | "detail">;

/** Some at a time; what comes next is read while the caller does something with those. */
async function* readDetailRows(
  tenant: Tenant,
  { days, ends }: Wanted,
): AsyncGenerator<readonly DetailRow[]> {
  // By no other condition on the day: SQLite would seek by that, and go through it once more.
  const selectAfter = ({ day, first_id }: Pick<DetailRow, "day" | "first_id">) =>
    selectUpTo(tenant, days.last, ends)
      .select(["day", "first_id", "ids", "detail"])
      .where((eb) => eb(eb.refTuple("day", "first_id"), ">", eb.tuple(day, first_id)))
      .orderBy("day")
      .orderBy("first_id")
      .limit(rowsAtOnce)
      .execute();
  let reading: Promise<readonly DetailRow[]> | undefined;
  reading = selectAfter({ day: days.first, first_id: "" });
  while (reading !== undefined) {
    const rows: readonly DetailRow[] = await reading;
    const last = rows.length < rowsAtOnce ? undefined : rows.at(-1);
    reading = last && selectAfter(last);
    // What it fails with is thrown where it is waited for.
    reading?.catch(() => undefined);
    yield rows;
  }
}

function sumUp({ kinds, rows }: ReadCells, isMeant: (hour: number) => boolean): number[] {
  const numbers = visitEvents.length;
  const places = kinds.map((text) => {
    const { hour, what, isPress } = readKind(text);
    return isPress || !isMeant(hour) ? undefined : visitEvents.indexOf(what);
  });
  return rows.flatMap((row) => {
    const sums = Array.from({ length: numbers }, () => 0);
    eachCell(row, (kind, count) => {
      const place = places[kind];
      if (place !== undefined) sums[place] = (sums[place] ?? 0) + count;
    });
    return sums;
  });
}
