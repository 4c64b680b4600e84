import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import { readEach } from "../sql/open-kysely.ts";
import type { LinkSums } from "../stats/link-sums.ts";
import { selectRows, type SumsRow, type Wanted } from "./read-visits.ts";
import type { Tenant } from "./tenant.ts";

/** Rows that are read at once, and those that are added up at once. */
const rowsAtOnce = 1000;
const rowsInRange = 32;

/**
 * Adds up the links' sums of whole days, and what else is given, a range of ids after the other: so
 * little more than a range is ever held.
 */
export async function readSums(
  tenant: Tenant,
  wanted: Wanted,
  others: readonly SumsRow[],
  sums: LinkSums,
): Promise<void> {
  const { add, end } = addInOrder(sums, others);
  const inOrder = selectSums(tenant, wanted).orderBy("first_id").compile();
  // What comes over the wire is added up as it comes: while it waits, it would be copied by V8.
  await (readEach(tenant.db, inOrder, add) ?? readRanges(tenant, wanted, add));
  end();
}

/** Takes rows in the order of their first ids, and puts the others where they belong. */
function addInOrder(sums: LinkSums, others: readonly SumsRow[]) {
  const left = others.toSorted(compareRows);
  let place = 0;
  let rows: SumsRow[] = [];

  function put(row: SumsRow): void {
    if (rows.length === rowsInRange) {
      sums.add(rows, row.first_id);
      rows = [];
    }
    rows.push(row);
  }

  function putOthers(before?: SumsRow): void {
    for (let row = left[place]; row !== undefined; row = left[place]) {
      if (before !== undefined && row.first_id >= before.first_id) return;
      put(row);
      place += 1;
    }
  }

  return {
    add: (row: SumsRow) => {
      putOthers(row);
      put(row);
    },
    end: () => {
      putOthers();
      sums.add(rows, undefined);
    },
  };
}

function compareRows({ first_id: one }: SumsRow, { first_id: other }: SumsRow): number {
  return one < other ? -1 : 1;
}

/** Of ids; the last one has no end. */
type Range = { readonly start: string; readonly next: string | undefined };

/** Where all rows that a statement finds are handed over at once, each finds some of them. */
async function readRanges(
  tenant: Tenant,
  wanted: Wanted,
  take: (row: SumsRow) => void,
): Promise<void> {
  const starts = ["", ...(await listStarts(tenant, wanted))];
  const ranges = starts.map((start, place) => ({ start, next: starts[place + 1] }));
  const read = ({ start, next }: Range) => {
    const query = selectSums(tenant, wanted).where("first_id", ">=", start);
    return (next === undefined ? query : query.where("first_id", "<", next)).execute();
  };
  for await (const rows of readAhead(ranges, read)) {
    for (const [place, row] of rows.toSorted(compareRows).entries()) {
      take(row);
      // Others have their turn.
      if (place % rowsInRange === 0) await setImmediate();
    }
  }
}

/** What is read next is read while the caller does something with the one before. */
async function* readAhead<Key, Found>(
  keys: readonly Key[],
  read: (key: Key) => Promise<Found>,
): AsyncGenerator<Found> {
  let reading: Promise<Found> | undefined;
  for (const key of keys) {
    const found = await reading;
    const next = read(key);
    // What it fails with is thrown where it is waited for.
    next.catch(() => undefined);
    if (found !== undefined) yield found;
    reading = next;
  }
  if (reading !== undefined) yield await reading;
}

/** Where the rows that are read at once begin, but the first of them. */
async function listStarts(tenant: Tenant, { days, ends }: Wanted): Promise<readonly string[]> {
  const own = selectRows(tenant, days, ends).select([
    "first_id",
    sql<number>`row_number() over (order by first_id)`.as("place"),
  ]);
  const rows = await tenant.db
    .selectFrom(own.as("own"))
    .select("first_id")
    .distinct()
    .where(sql<number>`place % ${rowsAtOnce}`, "=", 0)
    .orderBy("first_id")
    .execute();
  return rows.map(({ first_id }) => first_id);
}

function selectSums(tenant: Tenant, { days, ends }: Wanted) {
  return selectRows(tenant, days, ends).select(["first_id", "ids", "sums"]);
}
