import type { Meta } from "../../contract/fields.ts";
import type { Sort } from "../../contract/filters.ts";
import { paging } from "../../contract/limits.ts";

/** A whole list, read page by page while others may write. */

export type PageAsked = { readonly page: number; readonly limit: number; readonly sort: Sort };

type PageRead<Row> = { readonly rows: readonly Row[]; readonly meta: Meta };

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
): Promise<readonly Row[] | undefined> {
  for (const sort of listOrders(unique)) {
    const { rows, count, isWhole } = await readOnce(read, sort, most);
    if (count > most) return undefined;
    if (isWhole) return rows;
  }
  throw new ListChanging(
    "Links or apps were added or deleted while they were read, again and again.",
  );
}

type Found<Row> = {
  readonly rows: readonly Row[];
  /** How many rows the deployment says that the list has. */
  readonly count: number;
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
  let limit: number = paging.max_limit;
  for (let reached = 0; ;) {
    const asked = choosePage(reached, limit);
    const { rows, meta } = await read({ ...asked, sort });
    const { count, next } = meta;
    // A deployment may have a smaller maximum than ours.
    if (meta.limit < asked.limit) limit = meta.limit;
    const start = (asked.page - 1) * meta.limit;
    const isJoined = start === reached || found.has(rows[0]?.id ?? "");
    for (const row of rows) found.set(row.id, row);
    const isLast = next === undefined || next === null;
    const isStuck = !isJoined || start + rows.length <= reached;
    if (isLast || isStuck || count > most) {
      const isWhole = isJoined && isLast && found.size === count;
      return { rows: [...found.values()], count, isWhole };
    }
    reached = start + rows.length;
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
