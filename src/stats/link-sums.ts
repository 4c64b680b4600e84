import { clearSlot, createIdTable, isTaken, putId, seekId, type IdTable } from "./id-table.ts";
import {
  idWords,
  packId,
  readId,
  readIdWords,
  readNumber,
  unpackRows,
  type NumbersReader,
} from "./link-ids.ts";
import type { LinkSet } from "./link-set.ts";
import { createSum, type Sum } from "./sums.ts";

/**
 * Adds up millions of counts by their links, of which the best are told apart. Its rows come in the
 * order of their first ids, a range of ids after the other: what is added up at a time stays near
 * the processor, and what was is let go. A table of all links takes several times as long.
 */
export type LinkSums = {
  /** Adds the rows, and then all that was added of links before `next`; without it, all. */
  readonly add: (rows: readonly LinkRow[], next: string | undefined) => void;
  readonly read: () => Best;
};

/** Links in the order of their ids; both are packed. */
export type LinkRow = {
  readonly ids: string;
  /** Three for each link: clicks, opens and installs. */
  readonly sums: string;
};

type Best = {
  readonly total: Sum;
  /** That had any. */
  readonly links: number;
  /** Those with the most clicks, in order. */
  readonly best: readonly (readonly [string, Sum])[];
  /** Of the links that were named before. */
  readonly named: ReadonlyMap<string, Sum>;
};

type LinkSumsOptions = {
  /** So many are the best. */
  readonly most: number;
  /** Without it, all links are counted. */
  readonly only?: LinkSet | undefined;
  readonly named?: Iterable<string> | undefined;
};

/** A row of which the links before `place` were added. */
type OpenRow = NumbersReader & {
  readonly ids: Uint32Array;
  place: number;
};

export function createLinkSums({ most, only, named = [] }: LinkSumsOptions): LinkSums {
  let open: readonly OpenRow[] = [];
  let table = createTable(usualIds);
  const total = createSum();
  let links = 0;
  const best: [string, Sum][] = [];
  const wanted = [...named].map((id) => [id, readIdWords(packId(id))] as const);
  const found = new Map<string, Sum>();

  function note(slot: number): void {
    const at = slot * numbers;
    const click = table.sums[at] ?? 0;
    const other = (table.sums[at + 1] ?? 0) + (table.sums[at + 2] ?? 0);
    if (click + other === 0) return;
    if (only?.has(table.keys, slot * idWords) === false) return;
    links += 1;
    total.click += click;
    total.open += table.sums[at + 1] ?? 0;
    total.install += table.sums[at + 2] ?? 0;
    const last = best.length < most ? undefined : best.at(-1);
    if (last !== undefined && last[1].click > click) return;
    const own = [writeKey(table, slot), readSum(table, slot)] satisfies [string, Sum];
    // Very many may have as many as the last one has.
    if (last !== undefined && compareSums(own, last) > 0) return;
    const place = best.findIndex((one) => compareSums(own, one) < 0);
    best.splice(place < 0 ? best.length : place, 0, own);
    if (best.length > most) best.pop();
  }

  return {
    add: (rows, next) => {
      const limit = next === undefined ? undefined : readIdWords(packId(next));
      open = [...open, ...unpackRows(rows).map(openRow)];
      const ends = open.map((row) => findEnd(row, limit));
      const counted = ends.reduce((sum, end, row) => sum + end - (open[row]?.place ?? 0), 0);
      // It is empty.
      if (table.slots < counted * 2) table = createTable(counted);
      for (const [place, row] of open.entries()) addRow(table, row, ends[place] ?? 0);
      for (const [id, key] of wanted) {
        const slot = seekId(table, key, 0);
        if (isTaken(table, slot)) found.set(id, readSum(table, slot));
      }
      empty(table, note);
      open = open.filter(({ ids, place }) => place * idWords < ids.length);
    },
    read: () => ({ total, links, best, named: found }),
  };
}

/** Clicks first, then opens and installs, and at last the ids, so that the order is always one. */
export function compareSums(
  [id, sum]: readonly [string, Sum],
  [otherId, other]: readonly [string, Sum],
): number {
  return (
    other.click - sum.click ||
    other.open - sum.open ||
    other.install - sum.install ||
    (id < otherId ? -1 : 1)
  );
}

function openRow({ ids, numbers }: Pick<OpenRow, "ids" | "numbers">): OpenRow {
  return { ids, place: 0, numbers, at: 0 };
}

/** The place of the first link of the row that is not before the limit. */
function findEnd({ ids, place }: OpenRow, limit: Uint32Array | undefined): number {
  let high = ids.length / idWords;
  if (limit === undefined) return high;
  let low = place;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareIds(ids, middle * idWords, limit) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function compareIds(ids: Uint32Array, at: number, other: Uint32Array): number {
  for (let word = 0; word < idWords; word += 1) {
    const less = (ids[at + word] ?? 0) - (other[word] ?? 0);
    if (less !== 0) return less;
  }
  return 0;
}

/** Sums by id. */
type Table = IdTable & {
  readonly sums: Float64Array;
  /** The slots that are taken, as they were. */
  readonly taken: Int32Array;
  count: number;
};

const usualIds = 2 ** 13;
/** Of what is told of a link. */
const numbers = 3;

function createTable(mostIds: number): Table {
  const table = createIdTable(mostIds);
  const sums = new Float64Array(table.slots * numbers);
  return { ...table, sums, taken: new Int32Array(table.slots), count: 0 };
}

/** Numbers are read where they are added: most of them are small, or nothing. */
function addRow(table: Table, row: OpenRow, end: number): void {
  const { ids } = row;
  const { sums } = table;
  for (; row.place < end; row.place += 1) {
    const slot = take(table, ids, row.place * idWords);
    for (let to = slot * numbers; to < (slot + 1) * numbers; to += 1) {
      const number = readNumber(row);
      if (number > 0) sums[to] = (sums[to] ?? 0) + number;
    }
  }
}

/** The slot of an id, which has it from then on. */
function take(table: Table, ids: Uint32Array, at: number): number {
  const slot = seekId(table, ids, at);
  if (isTaken(table, slot)) return slot;
  putId(table, slot, ids, at);
  table.taken[table.count] = slot;
  table.count += 1;
  return slot;
}

/** Only what was taken is cleared: most of the table is as it was. */
function empty(table: Table, note: (slot: number) => void): void {
  const { sums, taken, count } = table;
  for (let place = 0; place < count; place += 1) {
    const slot = taken[place] ?? 0;
    note(slot);
    clearSlot(table, slot);
    for (let number = 0; number < numbers; number += 1) sums[slot * numbers + number] = 0;
  }
  table.count = 0;
}

function readSum({ sums }: Table, slot: number): Sum {
  const at = slot * numbers;
  return { click: sums[at] ?? 0, open: sums[at + 1] ?? 0, install: sums[at + 2] ?? 0 };
}

function writeKey({ keys }: Table, slot: number): string {
  const own = keys.slice(slot * idWords, (slot + 1) * idWords);
  return readId(Buffer.from(own.buffer).swap32(), 0);
}
