import type { IncomingMessage } from "node:http";

/** Reads the parts of a request that all web pages use. */

export function isRead({ method }: Pick<IncomingMessage, "method">): boolean {
  return method === "GET" || method === "HEAD";
}

/** Reads the page number from a URL's query. Page numbers start at 1, which is also the default. */
export function readPageNumber(params: URLSearchParams, name = "page"): number {
  const page = params.get(name) ?? "";
  return /^[1-9]\d{0,6}$/.test(page) ? Number(page) : 1;
}

/** Reads a row number from a URL's query. Row numbers start at 0. */
export function readRowNumber(params: URLSearchParams): number | undefined {
  const row = params.get("row") ?? "";
  return /^\d{1,7}$/.test(row) ? Number(row) : undefined;
}
