import { limits } from "../limits.ts";
import { readUrl } from "./web-address.ts";

/**
 * The query of an address, as text: parameters go from one address to another as they were written,
 * for a reader may tell `%20` from `+`, or count what is there twice.
 */

/** What stands between `?` and `#`, safe for a header; an address that is none has no query. */
export function readQuery(address: string): string {
  if (!address.includes("?")) return "";
  const [whole = ""] = address.split("#", 1);
  const start = whole.indexOf("?");
  const query = start < 0 ? "" : whole.slice(start + 1);
  if (/^[\x21-\x7e]*$/.test(query)) return query;
  return readUrl(address)?.search.slice(1) ?? "";
}

/** What stands before the query of an address that has no fragment. */
export function dropQuery(address: string): string {
  const start = address.indexOf("?");
  return start < 0 ? address : address.slice(0, start);
}

/** A query with those parameters of another one behind it whose names it has not got. */
export function joinQueries(query: string, others: string): string {
  if (others === "") return query;
  const known = new Set(listParameters(query).map(readName));
  const added = listParameters(others).filter((parameter) => !known.has(readName(parameter)));
  if (added.length === 0) return query;
  return [...(query === "" ? [] : [query.replace(/&+$/, "")]), ...added].join("&");
}

/** A query without the parameters of a name, which are somebody else's. */
export function dropParameter(query: string, name: string): string {
  const kept = listParameters(query).filter((parameter) => readName(parameter) !== name);
  return kept.join("&");
}

/** A query with those of its parameters alone that stand in another one just so. */
export function keepShared(query: string, other: string): string {
  if (query === other) return query;
  const others = new Set(listParameters(other));
  return listParameters(query)
    .filter((parameter) => others.has(parameter))
    .join("&");
}

/** The first parameters of a query, as many as fit, each of them whole. */
export function cutQuery(query: string, mostCharacters: number): string {
  if (query.length <= mostCharacters) return query;
  return query.slice(0, Math.max(0, query.lastIndexOf("&", mostCharacters)));
}

/**
 * An address with the parameters of a query that it has not got itself. One that would become too
 * long for an address stays as it is: its visitor arrives all the same.
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

/** As a server reads it, so that `%69d` is `id`; what cannot be decoded stands for itself. */
function readName(parameter: string): string {
  const [name = ""] = parameter.split("=", 1);
  try {
    return decodeURIComponent(name.replaceAll("+", " "));
  } catch {
    return name;
  }
}
