import type { ReadMeta } from "../../contract/fields.ts";
import type { Sort } from "../../contract/filters.ts";
import { paging } from "../../contract/limits.ts";

/** A whole list, read page by page while others may write. */

export type PageAsked = { readonly page: number; readonly limit: number; readonly sort: Sort };

type PageRead<Row> = {
  readonly rows: readonly Row[];
  /** The places on the page of rows that could not be read. */
  readonly unread: readonly number[];
  readonly meta: ReadMeta;
};

export type WholeList<Row> = {
  readonly rows: readonly Row[];
  /** How many more there are that could not be read. */
  readonly unread: number;
};

type Read<Row> = (asked: PageAsked) => Promise<PageRead<Row>>;

/** The list changed each time while it was read. */
export class ListChanging extends Error {
  override readonly name = "ListChanging";
}

/**
 * Oldest first, so that what is made meanwhile comes behind what was read. What was made in one
 * moment has no order of its own, and a deployment may answer it in another one each time; names
 * that are there once have one.
 */
function listOrders(unique: string): readonly Sort[] {
  const oldestFirst = { field: "created_at", direction: "asc" } as const;
  return [oldestFirst, oldestFirst, { field: unique, direction: "asc" }];
}

/**
 * Read again, all of it, until as many rows were found as there are. `unique` is a field; undefined
 * comes back where there are more than `most`.
 */
export async function readWholeList<Row extends { readonly id: string }>(
  read: Read<Row>,
  unique: string,
  most = Infinity,
): Promise<WholeList<Row> | undefined> {
  for (const sort of listOrders(unique)) {
    const { count = 0, isWhole, ...list } = await readOnce(read, sort, most);
    if (count > most) return undefined;
    if (isWhole) return list;
  }
  throw new ListChanging("Links or apps kept changing while they were being read. Try again.");
}

type Found<Row> = WholeList<Row> & {
  /** How many rows the deployment says that the list has, where it says so. */
  readonly count: number | undefined;
  /** Whether `rows` are all of them. */
  readonly isWhole: boolean;
};

/**
 * Rows that are deleted draw the later ones forward, past the page that is read next. So each page
 * begins with a row that is known: where it does not, something may have slipped through between.
 */
async function readOnce<Row extends { readonly id: string }>(
  read: Read<Row>,
  sort: Sort,
  most: number,
): Promise<Found<Row>> {
  const found = new Map<string, Row>();
  const unread = new Set<number>();
  const countAll = () => found.size + unread.size;
  let limit: number = paging.max_limit;
  for (let reached = 0; ;) {
    const asked = choosePage(reached, limit);
    const page = await read({ ...asked, sort });
    const { rows, meta } = page;
    const count = meta.count ?? undefined;
    const shown = rows.length + page.unread.length;
    // A deployment may have a smaller maximum than ours, and may not say so.
    const size = meta.limit ?? (reached === 0 ? Math.min(shown, asked.limit) : asked.limit);
    if (size < asked.limit) limit = Math.max(1, size);
    const start = (asked.page - 1) * size;
    const isJoined = start === reached || found.has(rows[0]?.id ?? "") || unread.has(start);
    const before = countAll();
    for (const row of rows) found.set(row.id, row);
    for (const place of page.unread) unread.add(start + place);
    // Without a count, only a page that others were longer than is known to be the last one.
    const isEnd = count !== undefined || shown === 0 || (reached > 0 && shown < asked.limit);
    // Where nobody says how long a page is, a short one may be the last, or small as they all are.
    const isAll = (meta.limit ?? undefined) === undefined && countAll() === count;
    const isLast = isAll || ((meta.next ?? undefined) === undefined && isEnd);
    // A deployment that takes no notice of the page answers with the same one for ever.
    const isStuck = !isJoined || start + shown <= reached || countAll() === before;
    if (isLast || isStuck || (count ?? 0) > most) {
      const isWhole = isJoined && isLast && (count ?? countAll()) === countAll();
      return { rows: [...found.values()], unread: unread.size, count, isWhole };
    }
    reached = start + shown;
  }
}

/**
 * Of the pages that begin before the place that was reached, the one that goes furthest beyond it.
 * Where the pages are too small for that, the next one.
 */
function choosePage(reached: number, largest: number): Pick<PageAsked, "page" | "limit"> {
  let best = { page: Math.floor(reached / largest) + 1, limit: largest };
  let furthest = reached;
  for (let limit = largest; limit > 1; limit -= 1) {
    const page = Math.floor(Math.max(0, reached - 1) / limit) + 1;
    if (page * limit <= furthest) continue;
    best = { page, limit };
    furthest = page * limit;
  }
  return best;
}
