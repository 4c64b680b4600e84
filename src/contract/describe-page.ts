import type { Meta } from "./fields.ts";

/** The envelope of a page, as pagy numbers it (link-services.md §2). */
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
