import type { ReadMeta } from "../contract/fields.ts";
import type { JsonObject } from "../contract/json.ts";
import { paging } from "../contract/limits.ts";

/**
 * Where a list goes on. A deployment may leave out members of `meta`, or all of it; then the page
 * itself shows whether there can be more, and at worst an empty page is asked for. An empty page is
 * always the end, and a next page always a later one: nobody goes round in a circle.
 */
export function completeMeta(given: ReadMeta, asked: JsonObject, shown: number): ReadMeta {
  const { next: _next, limit: _limit, count: _count, last: _last, ...rest } = given;
  const said = pickCredible(given, asked, shown);
  const { limit } = said;
  const page = readCount(asked["page"]) ?? readCount(given.page) ?? 1;
  const next = findNext(said, { page, shown, asked: readCount(asked["limit"]) });
  const start = page === 1 ? 0 : limit && (page - 1) * limit;
  const isEnd = next === undefined && limit !== undefined && shown < limit;
  // A page past the end tells nothing of how many there are.
  const isCounted = isEnd && start !== undefined && (shown > 0 || page === 1);
  const count = said.count ?? (isCounted ? start + shown : undefined);
  const last = said.last ?? (limit && count !== undefined && Math.max(1, Math.ceil(count / limit)));
  const places = start !== undefined && {
    from: shown === 0 ? 0 : start + 1,
    to: shown === 0 ? 0 : start + shown,
  };
  return {
    page,
    ...places,
    ...rest,
    ...(limit !== undefined && { limit }),
    ...(count !== undefined && { count }),
    ...(typeof last === "number" && { last }),
    ...(next !== undefined && { next }),
  };
}

type Page = { readonly page: number; readonly shown: number; readonly asked: number | undefined };

function findNext(said: Said, { page, shown, asked }: Page): number | undefined {
  const { next, last, count, limit } = said;
  if (shown === 0) return undefined;
  if (next !== undefined && next > page) return next;
  if (last !== undefined) return last > page ? page + 1 : undefined;
  // A last page that is not full looks like a small one: then one empty page follows.
  if (count !== undefined) return page * (limit ?? shown) < count ? page + 1 : undefined;
  return shown >= (limit ?? asked ?? paging.default_limit) ? page + 1 : undefined;
}

type Said = Partial<Readonly<Record<"limit" | "count" | "last" | "next", number>>>;

/** Numbers that the page itself proves wrong count for nothing. */
function pickCredible(
  { limit, count, last, next }: ReadMeta,
  asked: JsonObject,
  shown: number,
): Said {
  const most = readCount(asked["limit"]) ?? Infinity;
  const isLimit = isCount(limit) && limit >= Math.max(1, shown) && limit <= most;
  return {
    ...(isLimit && { limit }),
    ...(isCount(count) && count >= shown && { count }),
    ...(isCount(last) && last >= 1 && { last }),
    ...(isCount(next) && { next }),
  };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function readCount(value: unknown): number | undefined {
  return isCount(value) ? value : undefined;
}
