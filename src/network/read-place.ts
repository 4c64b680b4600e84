/** The place in a list that an address asks for. */

/** A page, counted from 1; the first one where it says none. */
export function readPageNumber(params: URLSearchParams, name = "page"): number {
  const page = params.get(name) ?? "";
  return /^[1-9]\d{0,6}$/.test(page) ? Number(page) : 1;
}

/** One row alone, counted from 0. */
export function readRowNumber(params: URLSearchParams): number | undefined {
  const row = params.get("row") ?? "";
  return /^\d{1,7}$/.test(row) ? Number(row) : undefined;
}
