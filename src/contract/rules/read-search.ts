import type { FilterCondition, FieldKind, Filter, FilterFields, FieldTest } from "../filters.ts";
import { paging } from "../limits.ts";
import { isStorable } from "../text.ts";
import { decodeForSearch, dropEndSlashes } from "./link-path.ts";
import { readNamedLink } from "./named-records.ts";

/**
 * Turns a search text into filters. Each word must occur in one of the searched fields. A link's
 * full or short URL finds that link.
 */

const searchFields = {
  name: "text",
  path: "path",
  shortened_path: "path",
  url: "text",
  social_title: "text",
} as const satisfies FilterFields;

/** Internal field that matches any path of a link, including short paths. */
export const addressField = "address";

/** `origins` are the origins of the project's links. If undefined, any URL may be a link's URL. */
export function readSearch(
  text: string,
  origins: readonly string[] | undefined,
): readonly Filter[] {
  return splitWords(text).map((word): Filter => {
    const paths = listPaths(word, origins);
    return { join: "or", tests: paths === undefined ? findWord(word) : findAddress(word, paths) };
  });
}

/** Returns the fault of a search text, worded to complete a sentence, or undefined. */
export function findSearchFault(text: string): string | undefined {
  const { length } = splitWords(text);
  if (length === 0) return "must not be empty";
  if (length > paging.max_search_words) return `takes at most ${paging.max_search_words} words`;
  return isStorable(text) ? undefined : "contains characters that cannot be stored";
}

function splitWords(text: string): readonly string[] {
  return text.split(/\s+/u).filter((word) => word !== "");
}

function findWord(word: string): readonly FieldTest[] {
  // Paths are stored decoded, so "/caf%C3%A9" must find "café".
  const path = decodeForSearch(word) || word;
  return Object.entries(searchFields).map(([field, kind]) =>
    makeTest(field, kind, "cont", kind === "path" && isStorable(path) ? path : word),
  );
}

/** Finds the link at this URL, and the links that redirect to this URL. */
function findAddress(word: string, paths: readonly string[]): readonly FieldTest[] {
  return [makeTest(addressField, "path", "in", paths), makeTest("url", "text", "cont", word)];
}

function makeTest(
  field: string,
  kind: FieldKind,
  condition: FilterCondition,
  value: string | readonly string[],
): FieldTest {
  return { field, kind, condition, value };
}

/** Returns undefined if the word is not a link's URL. */
function listPaths(
  word: string,
  origins: readonly string[] | undefined,
): readonly string[] | undefined {
  const { address } = readNamedLink(word, origins ?? []);
  const isOurs = address?.isOurs ?? /^https?:\/\//i.test(word);
  if (address === undefined || !isOurs) return undefined;
  const path = dropEndSlashes(address.path);
  return path === "" || !isStorable(path) ? undefined : [path];
}
