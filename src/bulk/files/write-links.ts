import type { ReadLink } from "../../contract/links.ts";
import { escapeHiddenInJson } from "../../text/escape.ts";
import { exportColumns, pickExported, writeLink } from "./columns.ts";
import { writeRecord } from "./csv.ts";

/** Writes links to CSV or JSON, in one file or in pages. The result can be imported again. */

export const exportFormats = ["csv", "json"] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** Yields an export in pages. CSV pages can be concatenated. A JSON page is a complete array. */
export async function* writePages(
  parts: AsyncIterable<readonly ReadLink[]>,
  format: ExportFormat,
  mostBytes: number,
): AsyncGenerator<string> {
  const isCsv = format === "csv";
  const close = (items: readonly string[]) => (isCsv ? items.join("") : `[${items.join(",\n")}]\n`);
  let items: string[] = [];
  let bytes = 0;
  for await (const item of writeItems(parts, format)) {
    const size = Buffer.byteLength(item) + 4;
    if (bytes + size > mostBytes && items.length > 0) {
      yield close(items);
      items = [];
      bytes = 0;
    }
    items.push(item);
    bytes += size;
  }
  yield close(items);
}

/** Yields one file link by link, so that a failed write stops the export immediately. */
export function writeWhole(
  parts: AsyncIterable<readonly ReadLink[]>,
  format: ExportFormat,
): AsyncGenerator<string> {
  return joinItems(writeItems(parts, format), format);
}

/** Joins pages into one file. For JSON, the file contains a single array. */
export function joinPages(
  pages: AsyncIterable<string>,
  format: ExportFormat,
): AsyncGenerator<string> {
  return joinItems(format === "csv" ? pages : dropBrackets(pages), format);
}

async function* dropBrackets(pages: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const page of pages) yield page.trimEnd().slice(1, -1);
}

async function* joinItems(
  items: AsyncIterable<string>,
  format: ExportFormat,
): AsyncGenerator<string> {
  if (format === "csv") return yield* items;
  let before = "[";
  for await (const item of items) {
    yield before + item;
    before = ",\n";
  }
  yield before === "[" ? "[]\n" : "]\n";
}

/** Yields each link as text. For CSV, yields the header before the first link arrives. */
async function* writeItems(
  parts: AsyncIterable<readonly ReadLink[]>,
  format: ExportFormat,
): AsyncGenerator<string> {
  const isCsv = format === "csv";
  if (isCsv) yield writeRecord(exportColumns);
  for await (const links of parts) {
    for (const link of links) {
      yield isCsv
        ? writeRecord(writeLink(link))
        : escapeHiddenInJson(JSON.stringify(pickExported(link)));
    }
  }
}

type SelectedPart = { readonly rows: readonly ReadLink[]; readonly unread: number };

/** Counts exported links, and collects which data is missing from the file. */
export function createExportCount() {
  let links = 0;
  let unread = 0;
  const unknown = new Set<string>();
  return {
    pass: async function* (parts: AsyncIterable<SelectedPart>) {
      for await (const { rows, unread: left } of parts) {
        links += rows.length;
        unread += left;
        const missing = rows.flatMap((link) =>
          exportColumns.filter((name) => link[name] === undefined),
        );
        for (const name of missing) unknown.add(name);
        yield rows;
      }
    },
    readCount: () => links,
    /** Describes the missing data in sentences without a final period. */
    listMissing: (): readonly string[] => {
      const lost =
        unread === 1
          ? "1 link could not be read, and is"
          : `${unread} links could not be read, and are`;
      const left =
        `The server did not return ${[...unknown].join(", ")} for every link. Before you import ` +
        "a CSV file again, remove these columns, because an empty cell clears its field";
      return [
        ...(unread > 0 ? [`${lost} not in the file`] : []),
        ...(unknown.size > 0 ? [left] : []),
      ];
    },
  };
}
