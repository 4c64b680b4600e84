import { addQuery, dropParameter, readQuery } from "./address-query.ts";

/**
 * The mark in the link address that the App Store button copies to the clipboard. It identifies the
 * visit, so that the project's app can match its install. It can be used only once.
 */
const name = "wp";
const start = `${name}=paste-`;
const idPattern = /^[\w-]{22}$/;

export function addPasteMark(address: string, visit: string): string {
  return addQuery(address, start + visit);
}

/** Undefined if the address was not copied from a preview page. */
export function readPasteMark(
  address: string,
): { readonly visit: string; readonly address: string } | undefined {
  if (!address.includes(start)) return undefined;
  const query = readQuery(address);
  const mark = query.split("&").find((each) => each.startsWith(start));
  const visit = mark?.slice(start.length);
  if (visit === undefined || !idPattern.test(visit)) return undefined;
  const left = dropParameter(query, name);
  const [place = ""] = address.split("?", 1);
  return { visit, address: left === "" ? place : `${place}?${left}` };
}

/** Removes the mark, so that opening a copied address in a browser is an ordinary visit. */
export function dropPasteMark(target: string): string {
  return readPasteMark(target)?.address ?? target;
}
