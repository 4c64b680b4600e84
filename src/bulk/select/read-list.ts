import { setImmediate as nextTurn } from "node:timers/promises";
import { CallFailure } from "../../client/outcome.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import type { ReceivedMeta } from "../../contract/fields.ts";
import type { FilterInput, Sort } from "../../contract/filters.ts";
import { paging } from "../../contract/limits.ts";
import { findKind } from "../../contract/resource-kind.ts";
import { listUnreadRows } from "../../contract/server-answer.ts";
import type { ServerAccess } from "../owner.ts";

/** The one reader of long lists: page by page, while others may write. */

type RowWithId = { readonly id: string };

export type ListPart<Item> = {
  readonly rows: readonly Item[];
  /** How many more rows could not be read. */
  readonly unread: number;
};

/**
 * Oldest first, so that new rows come after those already read. Rows created at the same moment
 * have no fixed order, and a server may return them in another order each time. A sort by a unique
 * name has a fixed order.
 */
function listOrders(unique: string): readonly Sort[] {
  const oldestFirst = { field: "created_at", direction: "asc" } as const;
  return [oldestFirst, oldestFirst, { field: unique, direction: "asc" }];
}

/**
 * Reads the whole list, page by page, each row once. If a row may have been missed, the list is
 * read again from its beginning, and the missed rows follow. A row that is deleted after it was
 * read is kept. Throws unless the last pass found as many rows as the list has.
 */
export async function* readList<Item extends RowWithId>(
  asking: ServerAccess,
  index: Endpoint,
  filters: readonly FilterInput[] = [],
): AsyncGenerator<ListPart<Item>> {
  const given = new Set<string>();
  let unreadGiven = 0;
  for (const sort of listOrders(findKind(index).key ?? "")) {
    const pages = readPages<Item>(asking, index, { filters, sort });
    for await (const { rows, known, unread, count = known, isJoined, isLast } of pages) {
      const fresh = rows.filter(({ id }) => !given.has(id));
      for (const { id } of fresh) given.add(id);
      yield { rows: fresh, unread: Math.max(0, unread - unreadGiven) };
      unreadGiven = Math.max(unread, unreadGiven);
      if (isJoined && isLast && count === known) return;
      if (!isJoined) break;
    }
  }
  const message = "Links or apps kept changing while they were being read. Try again.";
  throw new CallFailure("overloaded", message, { effect: "none", retry: "later" });
}

export async function collectList<Item>(
  parts: AsyncIterable<ListPart<Item>>,
): Promise<ListPart<Item>> {
  const rows: Item[] = [];
  let unread = 0;
  for await (const part of parts) {
    rows.push(...part.rows);
    unread += part.unread;
  }
  return { rows, unread };
}

type PageQuery = { readonly filters?: readonly FilterInput[]; readonly sort: Sort };

type ListPage<Item> = {
  readonly rows: readonly Item[];
  /** How many rows were seen so far, and how many of them could not be read. */
  readonly known: number;
  readonly unread: number;
  /** The server's count of the list's rows, if it gives one. */
  readonly count: number | undefined;
  /** Whether no row before this page can have been missed. */
  readonly isJoined: boolean;
  readonly isLast: boolean;
};

/**
 * Reads page after page, to the last page or to one that does not advance. Deleted rows move the
 * later ones forward, past the page that is read next. So each page begins with a known row; if it
 * does not, rows may have been missed.
 */
async function* readPages<Item extends RowWithId>(
  { call, signal }: ServerAccess,
  index: Endpoint,
  query: PageQuery,
): AsyncGenerator<ListPage<Item>> {
  /** The ids of rows, and the places of rows that could not be read. */
  const known = new Set<string | number>();
  let unread = 0;
  let limit: number = paging.max_limit;
  for (let reached = 0; ;) {
    const asked = choosePage(reached, limit);
    const body: unknown = await call(index, { ...asked, ...query }, signal);
    // Every list's body has its rows under the list's name; the client read it by the schema.
    const { meta, [index.list?.name ?? ""]: listed } = body as ListBody;
    const rows = listed as readonly Item[];
    const unreadRows = listUnreadRows(body as ListBody);
    const shown = rows.length + unreadRows.length;
    const count = meta.count ?? undefined;
    const isFirst = known.size === 0;
    // A server may have a smaller maximum than ours, and may not say so.
    const size = meta.limit ?? (isFirst ? Math.min(shown, asked.limit) : asked.limit);
    const isSmaller = size < asked.limit;
    if (isSmaller) limit = Math.max(1, size);
    const start = (asked.page - 1) * size;
    const isJoined =
      start === reached || isFirst || known.has(rows[0]?.id ?? "") || known.has(start);
    const before = known.size;
    for (const { id } of rows) known.add(id);
    for (const place of unreadRows) if (!known.has(start + place)) unread += 1;
    for (const place of unreadRows) known.add(start + place);
    // Without a count, only a page shorter than earlier ones is known to be the last one.
    const isEnd = count !== undefined || shown === 0 || (!isFirst && shown < asked.limit);
    // If the server states no page size, a short page may be the last, or all pages may be short.
    const isAll = (meta.limit ?? undefined) === undefined && known.size === count;
    const isLast = isAll || ((meta.next ?? undefined) === undefined && isEnd);
    const end = start + shown;
    yield { rows, known: known.size, unread, count, isJoined, isLast };
    // A server that ignores the page number returns the same page every time.
    if (isLast || known.size === before || (end <= reached && !isSmaller)) return;
    reached = Math.max(end, reached);
    // A service in this process answers without a pause: other work of the process runs here.
    await nextTurn();
  }
}

type ListBody = { readonly meta: ReceivedMeta; readonly [list: string]: unknown };

/**
 * Chooses the page that includes the last row read and extends furthest beyond it. If pages are too
 * small for that, chooses the next page.
 */
function choosePage(reached: number, largest: number) {
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
