import { setImmediate as nextTurn } from "node:timers/promises";
import { CallFailure } from "../client/outcome.ts";
import { type Endpoint, listUnreadRows, type ReceivedData } from "../contract/endpoint.ts";
import type { ReceivedMeta } from "../contract/fields.ts";
import type { FilterInput, ListInput, Sort } from "../contract/filters.ts";
import { paging } from "../contract/limits.ts";
import { projects, type Project } from "../contract/projects.ts";
import { findKind } from "../contract/resource-kind.ts";

/** Reads long lists page by page, while other clients may write. */

type RowWithId = { readonly id: string };

export type ListPart<Item> = {
  readonly rows: readonly Item[];
  readonly unread: number;
};

/** Thrown if the list changed during every attempt to read it. */
export class ListChanging extends CallFailure {}

/**
 * Yields each row of a list once. If rows may have been missed, reads the list again and adds them.
 * A row that was deleted in the meantime stays in the result. Throws if even the last attempt does
 * not match the server's count. Rows are sorted by age, so that new rows come last. The order of
 * rows with the same time may change, so the third attempt sorts by a unique field. Lists without
 * sortable fields keep the server's order.
 */
export async function* readList<Item extends RowWithId>(
  index: Endpoint,
  readPage: ReadPage,
  filters: readonly FilterInput[] = [],
): AsyncGenerator<ListPart<Item>> {
  const given = new Set<string>();
  let unreadGiven = 0;
  const { name = "", filters: sortable = {} } = index.list ?? {};
  for (const field of ["created_at", "created_at", findKind(index).key ?? ""]) {
    const sort: Sort = { field, direction: "asc" };
    const query = { filters, ...(Object.hasOwn(sortable, field) && { sort }) };
    const pages = readPages<Item>(name, readPage, query);
    for await (const { rows, known, unread, count = known, isJoined, isLast } of pages) {
      const fresh = rows.filter(({ id }) => !given.has(id));
      for (const { id } of fresh) given.add(id);
      yield { rows: fresh, unread: Math.max(0, unread - unreadGiven) };
      unreadGiven = Math.max(unread, unreadGiven);
      if (isJoined && isLast && count === known) return;
      if (!isJoined) break;
    }
  }
  const message = `The list of ${name} kept changing while it was being read. Try again.`;
  throw new ListChanging("overloaded", message, { effect: "none", retry: "later" });
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

/** Reads all projects. Only a master key may read them. */
export async function readProjects(readPage: ReadPage): Promise<readonly ReceivedData<Project>[]> {
  return (await collectList(readList<ReceivedData<Project>>(projects.index, readPage))).rows;
}

/** The body of a list response. The property with the list's name contains the rows. */
type ListBody = { readonly meta: ReceivedMeta; readonly [list: string]: unknown };
type ReadPage = (input: ListInput) => Promise<ListBody>;

/** `known` is the number of different rows read so far. `isJoined` is true if no row was missed. */
type TrackedPart<Item> = ListPart<Item> & {
  readonly known: number;
  readonly count: number | undefined;
  readonly isJoined: boolean;
  readonly isLast: boolean;
};

/**
 * Reads pages until the last one, or until a page has no new rows. If a row is deleted, later rows
 * move to an earlier page and could be missed. So each page overlaps the previous page by a row.
 */
async function* readPages<Item extends RowWithId>(
  name: string,
  readPage: ReadPage,
  query: ListInput,
): AsyncGenerator<TrackedPart<Item>> {
  /**
   * The IDs of the rows that were read. Rows that could not be parsed are identified by position.
   */
  const known = new Set<string | number>();
  let unread = 0;
  let limit: number = paging.max_limit;
  for (let reached = 0; ;) {
    const asked = choosePage(reached, limit);
    const body = await readPage({ ...asked, ...query });
    const { meta } = body;
    const rows = body[name] as readonly Item[];
    const unreadRows = listUnreadRows(body);
    const shown = rows.length + unreadRows.length;
    const count = meta.count ?? undefined;
    const isFirst = known.size === 0;
    // A server may use a smaller page size than requested, and may not report it.
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
    // If the server reports no count, a page that is shorter than earlier ones is the last.
    const isEnd = count !== undefined || shown === 0 || (!isFirst && shown < asked.limit);
    // If the server reports no page size, reading stops when all counted rows have been read.
    const isAll = (meta.limit ?? undefined) === undefined && known.size === count;
    const isLast = isAll || ((meta.next ?? undefined) === undefined && isEnd);
    const end = start + shown;
    yield { rows, known: known.size, unread, count, isJoined, isLast };
    // A server that ignores the page number always returns the same page.
    if (isLast || known.size === before || (end <= reached && !isSmaller)) return;
    reached = Math.max(end, reached);
    // The embedded service answers synchronously, so let other work run.
    await nextTurn();
  }
}

/**
 * Chooses the page that contains the last row read so far and the most rows after it. If pages are
 * too small to overlap, chooses the next page.
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
