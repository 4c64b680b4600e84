import { limits } from "../limits.ts";
import { readUrl } from "./web-address.ts";

/**
 * Reads and changes the query of a URL. Parameters stay as written, because a site may distinguish
 * `%20` from `+` or rely on repeated parameters.
 */

/** Returns the text between `?` and `#`, encoded for a header. An invalid URL has no query. */
export function readQuery(address: string): string {
  if (!address.includes("?")) return "";
  const [whole = ""] = address.split("#", 1);
  const start = whole.indexOf("?");
  const query = start < 0 ? "" : whole.slice(start + 1);
  if (/^[\x21-\x7e]*$/.test(query)) return query;
  return readUrl(address)?.search.slice(1) ?? "";
}

/** Returns a URL without its query. The URL must have no fragment. */
export function dropQuery(address: string): string {
  const start = address.indexOf("?");
  return start < 0 ? address : address.slice(0, start);
}

/**
 * Appends the parameters of another query, except those with names that `query` already contains.
 */
export function joinQueries(query: string, others: string): string {
  if (others === "") return query;
  const known = new Set(listParameters(query).map(readName));
  const added = listParameters(others).filter((parameter) => !known.has(readName(parameter)));
  if (added.length === 0) return query;
  return [...(query === "" ? [] : [query.replace(/&+$/, "")]), ...added].join("&");
}

export function dropParameter(query: string, name: string): string {
  const others = listParameters(query).filter((parameter) => readName(parameter) !== name);
  return others.join("&");
}

/** Keeps only the parameters that another query also contains, with the same value. */
export function keepShared(query: string, other: string): string {
  if (query === other) return query;
  const others = new Set(listParameters(other));
  return listParameters(query)
    .filter((parameter) => others.has(parameter))
    .join("&");
}

/** Shortens the query to the given length without splitting a parameter. */
export function cutQuery(query: string, mostCharacters: number): string {
  if (query.length <= mostCharacters) return query;
  return query.slice(0, Math.max(0, query.lastIndexOf("&", mostCharacters)));
}

/**
 * Adds the parameters that a URL does not contain yet. Returns the URL unchanged if the result
 * would be too long for a redirect.
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

/** Decodes a parameter's name as servers do: `%69d` is `id`. Keeps an undecodable name. */
function readName(parameter: string): string {
  const [name = ""] = parameter.split("=", 1);
  try {
    return decodeURIComponent(name.replaceAll("+", " "));
  } catch {
    return name;
  }
}

/** The parameter that Waypost adds to a URL to recognize the URL later. */
const markName = "wp";

/**
 * The App Store button copies the link's URL with this mark and the visit's id to the clipboard.
 * The app can then match its install to the visit, once.
 */
const pasteMark = `${markName}=paste-`;
const idPattern = /^[\w-]{22}$/;

export function addPasteMark(address: string, visit: string): string {
  return addQuery(address, pasteMark + visit);
}

/** Returns undefined if the URL was not copied from a preview page. */
export function readPasteMark(
  address: string,
): { readonly visit: string; readonly address: string } | undefined {
  if (!address.includes(pasteMark)) return undefined;
  const query = readQuery(address);
  const mark = query.split("&").find((each) => each.startsWith(pasteMark));
  const visit = mark?.slice(pasteMark.length);
  if (visit === undefined || !idPattern.test(visit)) return undefined;
  const left = dropParameter(query, markName);
  const [place = ""] = address.split("?", 1);
  return { visit, address: left === "" ? place : `${place}?${left}` };
}

/** Removes the mark, so that a visit to a copied URL in a browser counts as an ordinary visit. */
export function dropPasteMark(target: string): string {
  return readPasteMark(target)?.address ?? target;
}

/**
 * Added to the URL in a QR code, so that scans are counted separately. It is removed before the
 * link is looked up.
 */
export const scanMark = `${markName}=qr`;

export function addScanMark(address: string): string {
  return addQuery(address, scanMark);
}

/** Removes the mark from the query of a path. A path without the mark stays unchanged. */
export function dropScanMark(target: string): string {
  const start = target.indexOf("?");
  const query = target.slice(start + 1);
  if (start < 0 || !query.split("&").includes(scanMark)) return target;
  const left = dropParameter(query, markName);
  return target.slice(0, start) + (left === "" ? "" : `?${left}`);
}
