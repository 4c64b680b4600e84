import type { IncomingMessage } from "node:http";

/** Reads what every web page needs of a request. */

/** Whether a request only reads. HEAD is GET without the body. */
export function isRead({ method }: Pick<IncomingMessage, "method">): boolean {
  return method === "GET" || method === "HEAD";
}

/** The page number in the query of an address, from 1; by default 1. */
export function readPageNumber(params: URLSearchParams, name = "page"): number {
  const page = params.get(name) ?? "";
  return /^[1-9]\d{0,6}$/.test(page) ? Number(page) : 1;
}

/** The number of a single row, from 0. */
export function readRowNumber(params: URLSearchParams): number | undefined {
  const row = params.get("row") ?? "";
  return /^\d{1,7}$/.test(row) ? Number(row) : undefined;
}
