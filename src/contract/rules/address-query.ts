import { limits } from "../limits.ts";
import { readUrl } from "./web-address.ts";

/**
 * The query of an address, and the marks that Waypost adds to it. These functions keep parameters
 * as they were written, because a site may distinguish `%20` from `+` or count repeated parameters.
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
  const others = listParameters(query).filter((parameter) => readName(parameter) !== name);
  return others.join("&");
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

/** The parameter that contains a mark. */
const markName = "wp";

/**
 * The mark in the link address that the App Store button copies to the clipboard. It identifies the
 * visit, so that the project's app can match its install. It can be used only once.
 */
const pasteMark = `${markName}=paste-`;
const idPattern = /^[\w-]{22}$/;

export function addPasteMark(address: string, visit: string): string {
  return addQuery(address, pasteMark + visit);
}

/** Undefined if the address was not copied from a preview page. */
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

/** Removes the mark, so that opening a copied address in a browser is an ordinary visit. */
export function dropPasteMark(target: string): string {
  return readPasteMark(target)?.address ?? target;
}

/**
 * The mark that the address in a QR code has, so that scans are counted separately. It is removed
 * before the address is used, so the link behaves the same.
 */
export const scanMark = `${markName}=qr`;

export function addScanMark(address: string): string {
  return addQuery(address, scanMark);
}

/** Removes the mark from a path with a query. Other paths stay unchanged. */
export function dropScanMark(target: string): string {
  const start = target.indexOf("?");
  const query = target.slice(start + 1);
  if (start < 0 || !query.split("&").includes(scanMark)) return target;
  const left = dropParameter(query, markName);
  return target.slice(0, start) + (left === "" ? "" : `?${left}`);
}
