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
    const found = new Map<string, Row>();
    const unread = new Set<number>();
    for await (const page of readPages(read, sort)) {
      for (const row of page.rows) found.set(row.id, row);
      for (const place of page.unread) unread.add(page.start + place);
      const { count = found.size + unread.size } = page;
      if (count > most) return undefined;
      const isWhole = page.isJoined && page.isLast && count === found.size + unread.size;
      if (isWhole) return { rows: [...found.values()], unread: unread.size };
      if (!page.isJoined) break;
    }
  }
  throw new ListChanging("Links or apps kept changing while they were being read. Try again.");
}

type PlacedPage<Row> = Pick<PageRead<Row>, "rows" | "unread"> & {
  /** The place of the page's first row in the list. */
  readonly start: number;
  /** Up to where the list was read. */
  readonly reached: number;
  /** How many rows the deployment says that the list has, where it says so. */
  readonly count: number | undefined;
  /** Whether nothing can have slipped through before it. */
  readonly isJoined: boolean;
  readonly isLast: boolean;
};

/**
 * Page after page, from a place on, to the last one or to one that leads no further. Rows that are
 * deleted draw the later ones forward, past the page that is read next. So each page begins with a
 * row that is known: where it does not, something may have slipped through between.
 */
export async function* readPages<Row extends { readonly id: string }>(
  read: Read<Row>,
  sort: Sort,
  from = 0,
): AsyncGenerator<PlacedPage<Row>> {
  const known = new Set<string | number>();
  let limit: number = paging.max_limit;
  for (let reached = from; ;) {
    const asked = choosePage(reached, limit);
    const { rows, unread, meta } = await read({ ...asked, sort });
    const count = meta.count ?? undefined;
    const shown = rows.length + unread.length;
    const isFirst = known.size === 0;
    // A deployment may have a smaller maximum than ours, and may not say so.
    const size = meta.limit ?? (isFirst ? Math.min(shown, asked.limit) : asked.limit);
    const isSmaller = size < asked.limit;
    if (isSmaller) limit = Math.max(1, size);
    const start = (asked.page - 1) * size;
    const isJoined =
      start === reached || isFirst || known.has(rows[0]?.id ?? "") || known.has(start);
    const before = known.size;
    for (const { id } of rows) known.add(id);
    for (const place of unread) known.add(start + place);
    const all = from + known.size;
    // Without a count, only a page that others were longer than is known to be the last one.
    const isEnd = count !== undefined || shown === 0 || (!isFirst && shown < asked.limit);
    // Where nobody says how long a page is, a short one may be the last, or small as they all are.
    const isAll = (meta.limit ?? undefined) === undefined && all === count;
    const isLast = isAll || ((meta.next ?? undefined) === undefined && isEnd);
    const end = start + shown;
    yield { rows, unread, start, reached: Math.max(end, reached), count, isJoined, isLast };
    // A deployment that takes no notice of the page answers with the same one for ever.
    if (isLast || known.size === before || (end <= reached && !isSmaller)) return;
    reached = Math.max(end, reached);
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
