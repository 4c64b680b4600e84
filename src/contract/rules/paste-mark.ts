import { addQuery, dropParameter, readQuery } from "./address-query.ts";

/**
 * What the address has beside the link's own that the App Store button of its page copies: the one
 * visit that it was copied in. It is of use once, and to nobody but the project's app.
 */
const name = "wp";
const start = `${name}=paste-`;
const idPattern = /^[\w-]{22}$/;

export function addPasteMark(address: string, visit: string): string {
  return addQuery(address, start + visit);
}

/** Undefined where the address was not copied from a page. */
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

/** Whoever opens it in a browser is a visitor as any other. */
export function dropPasteMark(target: string): string {
  return readPasteMark(target)?.address ?? target;
}
