import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { readPageNumber, readRowNumber } from "../network/read-place.ts";
import type { ShownPart } from "./account.ts";

/** What a tool has answered, member by member: a deployment elsewhere may leave any of them out. */

export function readText(record: JsonObject, name: string): string {
  const value = record[name];
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : "";
}

export function readNumber(record: JsonObject, name: string): number {
  const value = record[name];
  return typeof value === "number" ? value : 0;
}

export function readRecord(record: JsonObject, name: string): JsonObject {
  const value = record[name];
  return isJsonObject(value) ? value : {};
}

export function readRecords(record: JsonObject, name: string): readonly JsonObject[] {
  const value = record[name];
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** A part of the page's own address; empty where it is none that anything has. */
export function readParam(params: Readonly<Record<string, string>>, name: string): string {
  try {
    return decodeURIComponent(params[name] ?? "");
  } catch {
    return "";
  }
}

/** The place in a list that a page was come from, as the page's own address hands it on. */
export function writeFrom({ searchParams }: URL): string {
  const from = searchParams.get("from") ?? "";
  return from === "" ? "" : `?${String(new URLSearchParams({ from }))}`;
}

/** Counted from 1, as an address says it; the first one where it says none. */
export function readPage({ searchParams }: URL, name = "page"): number {
  return readPageNumber(searchParams, name);
}

/** Which rows of a plan an address asks for. */
export function readPlanPart(url: URL): ShownPart {
  return {
    page: readPage(url),
    row: readRowNumber(url.searchParams),
    conflicts: readPage(url, "conflicts"),
  };
}
