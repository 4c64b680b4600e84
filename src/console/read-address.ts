import { readPageNumber, readRowNumber } from "../network/read-request.ts";
import type { PlanPosition } from "./account.ts";

/** Reads the parameters in a page's URL. */

/** Returns a decoded path parameter, or an empty string if it cannot be decoded. */
export function readParam(params: Readonly<Record<string, string>>, name: string): string {
  try {
    return decodeURIComponent(params[name] ?? "");
  } catch {
    return "";
  }
}

/** Keeps the query of the list that opened the page, for the link back to that list. */
export function writeFrom({ searchParams }: URL): string {
  const from = searchParams.get("from") ?? "";
  return from === "" ? "" : `?${String(new URLSearchParams({ from }))}`;
}

/** Page numbers start at 1, which is also the default. */
export function readPage({ searchParams }: URL, name = "page"): number {
  return readPageNumber(searchParams, name);
}

/** Reads which rows of a plan the URL selects. */
export function readPlanPart(url: URL): PlanPosition {
  return {
    page: readPage(url),
    row: readRowNumber(url.searchParams),
    conflicts: readPage(url, "conflicts"),
  };
}

/** Returns the URL if it belongs to this console, otherwise undefined. */
export function readOwnAddress(text: string, origin: string): URL | undefined {
  const home = new URL("/", origin);
  try {
    const url = new URL(text, home);
    // Browsers treat a path that starts with two slashes as a URL on another host.
    return url.origin === home.origin && !url.pathname.startsWith("//") ? url : undefined;
  } catch {
    return undefined;
  }
}
