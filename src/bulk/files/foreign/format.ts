import type { LinkFields } from "../../../contract/links.ts";
import { readUrl } from "../../../contract/rules/web-address.ts";
import { readFlag } from "../columns.ts";

/** What converting a link of another service needs, whichever service it is. */

/** One link as another service writes it: every value that is not empty, by its name. */
export type ForeignLink = readonly ForeignValue[];

export type ForeignValue = {
  /** As it stands in the file: a column, or the members that lead to it (`data.$og_title`). */
  readonly name: string;
  /** The name as it is compared; see `simplifyName`. */
  readonly key: string;
  readonly text: string;
};

export type Converted = {
  readonly fields: LinkFields;
  /** What has no place on a link of ours. */
  readonly unmapped: readonly ForeignValue[];
};

export type Format = {
  readonly title: string;
  /** Whether a file with these columns or members comes from there. */
  readonly detect: (keys: ReadonlySet<string>) => boolean;
  readonly convert: (link: ForeignLink) => Converted;
};

/**
 * Services write one name in many ways: `Long URL`, `long_url`, `longUrl`; and Firebase puts the
 * parameter behind what it means: `iOS bundle ID (ibi)`. Of members inside others the last counts.
 */
export function simplifyName(name: string): string {
  const parameter = /\((\w+)\)\s*\??\s*$/.exec(name)?.[1];
  const last = parameter ?? name.replace(/^.*\.(?=\S)/s, "");
  return last.toLowerCase().replace(/[^a-z0-9$~]/g, "");
}

/** Reads a link's values by name, and lists in the end the values that were never read. */
export type LinkReader = {
  readonly has: (...keys: readonly string[]) => boolean;
  /** The first value under one of these keys, the first key first; it counts as mapped. */
  readonly take: (...keys: readonly string[]) => string | undefined;
  /** As `take`, but what `read` can make nothing of stays where it is. */
  readonly takeAs: <Value>(
    read: (text: string) => Value | undefined,
    ...keys: readonly string[]
  ) => Value | undefined;
  readonly rest: () => readonly ForeignValue[];
};

export function createLinkReader(link: ForeignLink): LinkReader {
  let left = link;
  const takeAs: LinkReader["takeAs"] = (read, ...keys) => {
    for (const key of keys) {
      for (const { key: name, text } of left) {
        const value = name === key ? read(text) : undefined;
        if (value === undefined) continue;
        // What is there twice and says the same is mapped twice.
        left = left.filter((other) => other.key !== key || other.text !== text);
        return value;
      }
    }
    return undefined;
  };
  return {
    has: (...keys) => left.some(({ key }) => keys.includes(key)),
    take: (...keys) => takeAs((text) => text, ...keys),
    takeAs,
    rest: () => left,
  };
}

/** Takes the addresses that only repeat the path. */
export function takeRepeated(
  { takeAs }: LinkReader,
  path: string | undefined,
  keys: readonly string[],
): void {
  if (path === undefined) return;
  for (const key of keys) takeAs((text) => readShortPath(text) === path || undefined, key);
}

/** Takes the flags that are off, which say nothing. */
export function takeUnsetFlags({ takeAs }: LinkReader, ...keys: readonly string[]): void {
  for (const key of keys) takeAs((text) => readFlag(text) === false || undefined, key);
}

/** `https://example.page.link/m9Mm` and `bit.ly/3abc` lead to a path; an address alone to none. */
export function readShortPath(text: string): string | undefined {
  const address = /^https?:\/\//i.test(text) ? text : `https://${text}`;
  const path = readUrl(address)?.pathname.slice(1);
  return path === "" ? undefined : path;
}

/** The fields that have a value. */
export function keepGiven(fields: LinkFields): LinkFields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
