import { addQuery, dropParameter } from "./address-query.ts";

/**
 * The mark that the address in a QR code has, so that scans are counted separately. It is removed
 * before the address is used, so the link behaves the same.
 */
export const scanMark = "wp=qr";
const [name = ""] = scanMark.split("=");

export function addScanMark(address: string): string {
  return addQuery(address, scanMark);
}

/** Removes the mark from a path with a query. Other paths stay unchanged. */
export function dropScanMark(target: string): string {
  const start = target.indexOf("?");
  const query = target.slice(start + 1);
  if (start < 0 || !query.split("&").includes(scanMark)) return target;
  const left = dropParameter(query, name);
  return target.slice(0, start) + (left === "" ? "" : `?${left}`);
}
