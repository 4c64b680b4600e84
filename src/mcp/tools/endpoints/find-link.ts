import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { writeAddress } from "../../../contract/rules/link-address.ts";
import { normalizeForSearch } from "../../../contract/rules/link-path.ts";
import {
  readNamedLink,
  type NamedAddress,
  type NamedLink,
} from "../../../contract/rules/named-link.ts";
import { quote } from "../../../text/show-hidden.ts";
import { ToolFailure } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import { listRows, readText, type Found } from "./found-rows.ts";

/** The link that a text names: by its path or short path, or by one of its addresses. */

type Asking = Pick<Call, "ask" | "keyContext">;

const { links, shortLinks } = contract;
/** More than so many say no more. */
const mostRows = 20;

export async function findLink(given: string, call: Asking): Promise<Found> {
  const named = readNamedLink(given, listHosts(call));
  const { exact, loose, address } = named;
  const elsewhere = address !== undefined && address.isOurs !== true ? [address.path] : [];
  const wanted = [...new Set([...exact, ...loose, ...elsewhere])].filter((path) => path !== "");
  if (wanted.length === 0) return { rows: [], near: undefined };
  const rows = await readRows(named, wanted, call);
  const found = pickMeant(named, rows);
  if (found.length > 0) return { rows: found, near: undefined };
  const resolved = address === undefined ? [] : await resolve(address, call);
  if (resolved.length > 0) return { rows: resolved, near: undefined };
  if (address === undefined || address.isOurs === true) {
    return { rows: [], near: address === undefined ? (exact[0] ?? "") : address.path };
  }
  const there = rows.filter((row) => hasPath(row, address.path));
  return { rows: [], near: undefined, foreign: describeForeign(address, there, call) };
}

/** Where the links of this key's project live, as far as that is known. */
export function listHosts({ keyContext }: Pick<Asking, "keyContext">): readonly string[] {
  const { linkHost, otherLinkHosts = [] } = keyContext.known;
  return linkHost === undefined ? [] : [linkHost, ...otherLinkHosts];
}

/** Our own service looks for paths and short paths at once; others are asked for one at a time. */
async function readRows(
  named: NamedLink,
  wanted: readonly string[],
  call: Asking,
): Promise<readonly JsonObject[]> {
  const read = (field: string) => {
    const [only = "", ...more] = wanted;
    const test = more.length === 0 ? eq(only) : { condition: "in" as const, value: wanted };
    return listRows(links.index, { filters: [{ field, ...test }], limit: mostRows }, call);
  };
  if (call.keyContext.checksConditions) return read("path_or_shortened_path");
  const atPath = await read("path");
  const isFound = named.exact.some((path) => atPath.some((row) => readPathOf(row) === path));
  return isFound ? atPath : [...atPath, ...(await read("shortened_path"))];
}

function eq(value: string) {
  return { condition: "eq", value } as const;
}

/** A deployment that ignores filters answers with all, so that the rows are compared here too. */
function pickMeant({ exact, loose }: NamedLink, rows: readonly JsonObject[]) {
  const fields = [readPathOf, readShortPathOf];
  for (const path of exact) {
    // As a visitor of the address: the link at the path, else the one with that short path.
    for (const read of fields) {
      const found = rows.filter((row) => read(row) === path);
      if (found.length > 0) return found;
    }
  }
  return rows.filter((row) => loose.some((path) => hasPath(row, path)));
}

function hasPath(row: JsonObject, path: string): boolean {
  return readPathOf(row) === path || readShortPathOf(row) === path;
}

/** Another deployment may store paths with a leading slash, or encoded. */
function readPathOf(row: JsonObject): string {
  return normalizeForSearch(readText(row, "path"));
}

function readShortPathOf(row: JsonObject): string {
  return normalizeForSearch(readText(row, "shortened_path"));
}

/** An address that was shortened with its query, and hosts that only the deployment knows. */
async function resolve(
  { text, isOurs }: NamedAddress,
  { ask }: Asking,
): Promise<readonly JsonObject[]> {
  if (isOurs === false) return [];
  try {
    const link = await ask(shortLinks.resolve, { url: text });
    return typeof link.id === "string" ? [link] : [];
  } catch (error) {
    if (error instanceof ToolFailure && error.failure.effect === "none") return [];
    throw error;
  }
}

/** The same path on our host may be what was meant; a person has to say so. */
function describeForeign(
  { host, path, isOurs }: NamedAddress,
  there: readonly JsonObject[],
  { keyContext }: Asking,
): NonNullable<Found["foreign"]> {
  const { linkHost } = keyContext.known;
  if (linkHost === undefined || isOurs === undefined) {
    return { message: `whether ${quote(host)} is its host is not known here`, there };
  }
  const place = writeAddress(linkHost, path);
  const told = there.length > 0 ? `At ${quote(place)} is` : `There is nothing at ${quote(place)}`;
  const [only] = there;
  const what = only === undefined ? "" : ` the link ${quote(readText(only, "name") || path)}`;
  const message = `${quote(host)} is not its host, which is ${quote(new URL(linkHost).host)}`;
  return { message: `${message}. ${told}${what}`, there };
}
