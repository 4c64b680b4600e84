import type { Meta } from "./fields.ts";

/** The `meta` object of a list: the page, its size, the total, and the neighboring pages. */
export function describePage(
  { page, limit }: { readonly page: number; readonly limit: number },
  count: number,
): Meta {
  const last = Math.max(1, Math.ceil(count / limit));
  const isPast = page > last;
  const isEmpty = isPast || count === 0;
  return {
    page,
    limit,
    count,
    last,
    from: isEmpty ? 0 : (page - 1) * limit + 1,
    to: isEmpty ? 0 : Math.min(page * limit, count),
    ...(page > 1 && { previous: isPast ? last : page - 1 }),
    ...(page < last && { next: page + 1 }),
  };
}
