import type { IncomingMessage } from "node:http";

/** Reads what every web page needs from a request. */

export function isRead({ method }: Pick<IncomingMessage, "method">): boolean {
  return method === "GET" || method === "HEAD";
}

/** Reads the page number in a URL's query, which starts at 1 and defaults to 1. */
export function readPageNumber(params: URLSearchParams, name = "page"): number {
  const page = params.get(name) ?? "";
  return /^[1-9]\d{0,6}$/.test(page) ? Number(page) : 1;
}

/** Reads the number of a single row, which starts at 0. */
export function readRowNumber(params: URLSearchParams): number | undefined {
  const row = params.get("row") ?? "";
  return /^\d{1,7}$/.test(row) ? Number(row) : undefined;
}
