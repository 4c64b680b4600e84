import { addQuery, dropParameter } from "./address-query.ts";

/**
 * What the address in a link's code has beside the link's own, so that its visits are told apart.
 * It is ours alone: it is taken off before anything is handed on, and the link means the same.
 */
export const scanMark = "wp=qr";
const [name = ""] = scanMark.split("=");

export function addScanMark(address: string): string {
  return addQuery(address, scanMark);
}

/** Of a path with a query, as it was asked for; unchanged where no code led there. */
export function dropScanMark(target: string): string {
  const start = target.indexOf("?");
  const query = target.slice(start + 1);
  if (start < 0 || !query.split("&").includes(scanMark)) return target;
  const left = dropParameter(query, name);
  return target.slice(0, start) + (left === "" ? "" : `?${left}`);
}
