import type { Condition, FieldKind, Filter, FilterFields, Test } from "../filters.ts";
import { paging } from "../limits.ts";
import { isStorable } from "../text.ts";
import { decodeForSearch, dropEndSlashes } from "./link-path.ts";
import { readNamedLink } from "./named-link.ts";

/**
 * One text that is searched for, as filters: each of its words stands somewhere in what a person
 * would name a link by. The address of a link, short or long, finds the link that is there.
 */

export const searchFields = {
  name: "text",
  path: "path",
  shortened_path: "path",
  url: "text",
  social_title: "text",
} as const satisfies FilterFields;

/** Any of a link's paths, as no caller filters by it: its own, and all of its short ones. */
export const addressField = "address";

/**
 * `origins` are those where the project's links live. Where nobody knows them, any whole address
 * may be that of a link.
 */
export function readSearch(
  text: string,
  origins: readonly string[] | undefined,
): readonly Filter[] {
  return splitWords(text).map((word): Filter => {
    const paths = listPaths(word, origins);
    return { join: "or", tests: paths === undefined ? findWord(word) : findAddress(word, paths) };
  });
}

/** What is wrong with it, as the end of a sentence, or undefined. */
export function findSearchFault(text: string): string | undefined {
  const { length } = splitWords(text);
  if (length === 0) return "must not be empty";
  if (length > paging.max_search_words) return `takes at most ${paging.max_search_words} words`;
  return isStorable(text) ? undefined : "contains characters that cannot be stored";
}

function splitWords(text: string): readonly string[] {
  return text.split(/\s+/u).filter((word) => word !== "");
}

function findWord(word: string): readonly Test[] {
  // As paths are kept: "/caf%C3%A9" is found as "café".
  const path = decodeForSearch(word) || word;
  return Object.entries(searchFields).map(([field, kind]) =>
    makeTest(field, kind, "cont", kind === "path" && isStorable(path) ? path : word),
  );
}

/** Another link may have this one's address for its destination. */
function findAddress(word: string, paths: readonly string[]): readonly Test[] {
  return [makeTest(addressField, "path", "in", paths), makeTest("url", "text", "cont", word)];
}

function makeTest(
  field: string,
  kind: FieldKind,
  condition: Condition,
  value: string | readonly string[],
): Test {
  return { field, kind, condition, value };
}

/** Undefined for what is no address. */
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
