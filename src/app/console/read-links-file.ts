import { findEncoding } from "../../bulk/files/csv.ts";
import { isJsonFile, readJsonFile } from "../../bulk/files/json-file.ts";
import { listItems } from "../../bulk/rows/read-rows.ts";

/** Reads an uploaded file of links as arguments for a plan. */

type ReadFile =
  | { readonly rows: readonly unknown[] }
  | { readonly csv: string }
  /** Why the file cannot be read. */
  | { readonly fault: string };

export function readLinksFile(name: string, bytes: Uint8Array): ReadFile {
  if (!isJsonFile(name, bytes.subarray(0, mostBlanks))) return readCsv(bytes);
  const read = readJsonFile(bytes);
  if ("fault" in read) return { fault: `The file ${read.fault}.` };
  const rows = listItems(read.value);
  return rows === undefined ? { fault: "The file contains no list of links." } : { rows };
}

const mostBlanks = 1000;

/** Decodes CSV. Spreadsheets may start it with a byte order mark that names the encoding. */
function readCsv(bytes: Uint8Array): ReadFile {
  try {
    return { csv: new TextDecoder(findEncoding(bytes), { fatal: true }).decode(bytes) };
  } catch {
    return { fault: "The file is not UTF-8 text. Save it as UTF-8." };
  }
}
