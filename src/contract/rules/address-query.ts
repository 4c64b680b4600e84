import { limits } from "../limits.ts";
import { readUrl } from "./web-address.ts";

/**
 * Functions for the query of an address. They keep parameters as they were written, because a site
 * may distinguish `%20` from `+` or count repeated parameters.
 */

/** The text between `?` and `#`, safe for a header. An invalid address has no query. */
export function readQuery(address: string): string {
  if (!address.includes("?")) return "";
  const [whole = ""] = address.split("#", 1);
  const start = whole.indexOf("?");
  const query = start < 0 ? "" : whole.slice(start + 1);
  if (/^[\x21-\x7e]*$/.test(query)) return query;
  return readUrl(address)?.search.slice(1) ?? "";
}

/** The text before the query of an address without a fragment. */
export function dropQuery(address: string): string {
  const start = address.indexOf("?");
  return start < 0 ? address : address.slice(0, start);
}

/** Appends the parameters of another query whose names the first one does not have. */
export function joinQueries(query: string, others: string): string {
  if (others === "") return query;
  const known = new Set(listParameters(query).map(readName));
  const added = listParameters(others).filter((parameter) => !known.has(readName(parameter)));
  if (added.length === 0) return query;
  return [...(query === "" ? [] : [query.replace(/&+$/, "")]), ...added].join("&");
}

/** Removes all parameters with this name. */
export function dropParameter(query: string, name: string): string {
  const kept = listParameters(query).filter((parameter) => readName(parameter) !== name);
  return kept.join("&");
}

/** Keeps the parameters that also occur, identically, in another query. */
export function keepShared(query: string, other: string): string {
  if (query === other) return query;
  const others = new Set(listParameters(other));
  return listParameters(query)
    .filter((parameter) => others.has(parameter))
    .join("&");
}

/** The first whole parameters that fit into the given length. */
export function cutQuery(query: string, mostCharacters: number): string {
  if (query.length <= mostCharacters) return query;
  return query.slice(0, Math.max(0, query.lastIndexOf("&", mostCharacters)));
}

/**
 * Adds the parameters that an address does not have. If the result is too long, the address stays
 * unchanged, so that the visitor still arrives.
 */
export function addQuery(address: string, query: string): string {
  if (query === "") return address;
  const [place = "", ...fragment] = address.split("#");
  const [path = "", ...own] = place.split("?");
  const before = own.join("?");
  const joined = joinQueries(before, query);
  if (joined === before) return address;
  const whole = [`${path}?${joined}`, ...fragment].join("#");
  return whole.length > limits.web_address_characters ? address : whole;
}

function listParameters(query: string): readonly string[] {
  return query.split("&").filter((parameter) => parameter !== "");
}

/** Decodes a name as servers do: `%69d` is `id`. A name that cannot be decoded stays as written. */
function readName(parameter: string): string {
  const [name = ""] = parameter.split("=", 1);
  try {
    return decodeURIComponent(name.replaceAll("+", " "));
  } catch {
    return name;
  }
}
