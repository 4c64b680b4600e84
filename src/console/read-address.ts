import { readPageNumber, readRowNumber } from "../network/read-request.ts";
import type { PlanPosition } from "./account.ts";

/** What the address of a page says. */

/** A part of the page's own address; empty if it cannot be decoded. */
export function readParam(params: Readonly<Record<string, string>>, name: string): string {
  try {
    return decodeURIComponent(params[name] ?? "");
  } catch {
    return "";
  }
}

/** Keeps the place in the list that the page was opened from. */
export function writeFrom({ searchParams }: URL): string {
  const from = searchParams.get("from") ?? "";
  return from === "" ? "" : `?${String(new URLSearchParams({ from }))}`;
}

/** Counted from 1; the first one if the address names none. */
export function readPage({ searchParams }: URL, name = "page"): number {
  return readPageNumber(searchParams, name);
}

/** Which rows of a plan the address selects. */
export function readPlanPart(url: URL): PlanPosition {
  return {
    page: readPage(url),
    row: readRowNumber(url.searchParams),
    conflicts: readPage(url, "conflicts"),
  };
}

/** An address of this console; undefined for any other place. */
export function readOwnAddress(text: string, origin: string): URL | undefined {
  const home = new URL("/", origin);
  try {
    const url = new URL(text, home);
    // Browsers take a path that begins with two slashes as another host.
    return url.origin === home.origin && !url.pathname.startsWith("//") ? url : undefined;
  } catch {
    return undefined;
  }
}
