import { findEncoding } from "../../bulk/files/csv.ts";
import { listItems } from "../../bulk/rows/read-rows.ts";
import { isNestedTooDeep } from "../../contract/json.ts";

/** A file of links that a person has uploaded, as the arguments of a plan. */

type ReadFile =
  | { readonly rows: readonly unknown[] }
  | { readonly csv: string }
  /** Why it cannot be read. */
  | { readonly fault: string };

export function readLinksFile(name: string, bytes: Uint8Array): ReadFile {
  const text = decode(bytes);
  if (text === undefined) return { fault: "The file is not UTF-8 text. Save it as UTF-8." };
  const isJson = /\.json$/i.test(name) || /^\s*[[{]/.test(text);
  return isJson ? readJson(text) : { csv: text };
}

/** Some spreadsheets write a byte order mark, which shows the encoding and is left out. */
function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder(findEncoding(bytes), { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function readJson(text: string): ReadFile {
  const given = parse(text);
  if (given === undefined) return { fault: "The file is not valid JSON. It may be incomplete." };
  if (isNestedTooDeep(given)) {
    return { fault: "The JSON in the file is nested too deeply." };
  }
  const rows = listItems(given);
  return rows === undefined ? { fault: "The file contains no list of links." } : { rows };
}

/** Returns undefined for invalid JSON; no valid JSON has this value. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
