import type { Link } from "../../contract/links.ts";
import { exportColumns, pickExported, writeLink } from "./columns.ts";
import { writeRecord } from "./csv.ts";

/** Links as a file, whole or page by page: what it says is read back as exactly the same. */

export const exportFormats = ["csv", "json"] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** Pages of CSV follow one another; each page of JSON is a list of its own. */
export async function* writePages(
  parts: AsyncIterable<readonly Link[]>,
  format: ExportFormat,
  mostBytes: number,
): AsyncGenerator<string> {
  const isCsv = format === "csv";
  const close = (items: readonly string[]) => (isCsv ? items.join("") : `[${items.join(",\n")}]\n`);
  let items: string[] = isCsv ? [writeRecord(exportColumns)] : [];
  let bytes = Buffer.byteLength(items.join(""));
  let isFirst = true;
  for await (const links of parts) {
    for (const link of links) {
      const item = writeItem(link, format);
      const size = Buffer.byteLength(item) + 4;
      if (bytes + size > mostBytes && items.length > 0) {
        yield close(items);
        items = [];
        bytes = 0;
        isFirst = false;
      }
      items.push(item);
      bytes += size;
    }
  }
  if (items.length > 0 || isFirst) yield close(items);
}

/** One file of all parts, in pieces that follow one another; JSON is one list. */
export async function* writeWhole(
  parts: AsyncIterable<readonly Link[]>,
  format: ExportFormat,
): AsyncGenerator<string> {
  const between = format === "csv" ? "" : ",\n";
  yield format === "csv" ? writeRecord(exportColumns) : "[";
  let before = "";
  for await (const links of parts) {
    if (links.length === 0) continue;
    yield before + links.map((link) => writeItem(link, format)).join(between);
    before = between;
  }
  if (format === "json") yield "]\n";
}

/** The same parts, while the links in them are counted. */
export async function* countEach(
  parts: AsyncIterable<readonly Link[]>,
  add: (more: number) => unknown,
): AsyncGenerator<readonly Link[]> {
  for await (const links of parts) {
    add(links.length);
    yield links;
  }
}

function writeItem(link: Link, format: ExportFormat): string {
  return format === "csv" ? writeRecord(writeLink(link)) : JSON.stringify(pickExported(link));
}
