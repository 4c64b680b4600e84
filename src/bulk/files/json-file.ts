import { isNestedTooDeep } from "../../contract/json.ts";
import { quote } from "../../text/show-hidden.ts";
import { findEncoding } from "./csv.ts";

/** Recognizes and parses JSON files of links. */

/**
 * Matches the start of a JSON array or object, even after a byte order mark or, in UTF-16, a zero
 * byte.
 */
const startOfJson = /^[\s\0\xef\xbb\xbf\xff\xfe]*[[{]/;

/** Whether a file contains JSON. Other files are read as CSV. */
export function isJsonFile(name: string, start: Uint8Array): boolean {
  return /\.json$/i.test(name) || startOfJson.test(Buffer.from(start).toString("latin1"));
}

/** Parses a JSON file. `fault` is a clause about the file, such as `is not valid JSON`. */
export function readJsonFile(
  bytes: Uint8Array,
): { readonly value: unknown } | { readonly fault: string } {
  try {
    const text = new TextDecoder(findEncoding(bytes), { fatal: true }).decode(bytes);
    const value: unknown = JSON.parse(text);
    return isNestedTooDeep(value) ? { fault: "has JSON that is nested too deeply" } : { value };
  } catch (error) {
    // The message of a SyntaxError contains the position and a part of the text.
    const isSyntax = error instanceof SyntaxError;
    const fault = isSyntax ? `is not valid JSON: ${quote(error.message, 200)}` : notUtf8;
    return { fault };
  }
}

const notUtf8 = "is not UTF-8 text; save it as UTF-8";
