import type { GivenRow } from "../columns.ts";
import { isNestedTooDeep } from "../../../contract/json.ts";
import { quoteLine } from "../../../text/show-hidden.ts";
import { bitly } from "./bitly.ts";
import { branch } from "./branch.ts";
import { firebase } from "./firebase.ts";
import { simplifyName, type ForeignLink, type Format } from "./format.ts";
import { shortIo } from "./short-io.ts";
import { countWarnings, type CountedWarnings } from "./warnings.ts";

/** Files of other services: which service it is, and its links in our fields. */

/** A column or member whose values were not taken over. */
export type Unmapped = {
  readonly field: string;
  /** How many values it had. */
  readonly count: number;
  /** The first of them, shortened. */
  readonly example: string;
};

/** Data of an app's own may have a new name in every link. */
const mostNames = 200;

const formats: readonly Format[] = [firebase, shortIo, bitly, branch];

/** The service that a file with these columns or members comes from; undefined for one of ours. */
export function detectFormat(names: readonly string[]): Format | undefined {
  const keys = new Set(names.map(simplifyName));
  return formats.find((format) => format.detect(keys));
}

/** A record of a foreign file. Columns that hold JSON are opened. */
export function readCells(columns: readonly string[], cells: readonly string[]): ForeignLink {
  return columns.flatMap((name, index) => {
    const text = cells[index] ?? "";
    const opened = /^\s*\{/.test(text) ? parseObject(text) : undefined;
    return opened === undefined ? flatten(name.trim(), text) : flatten(name.trim(), opened);
  });
}

/** A foreign link that came as JSON, taken apart to its single values. */
export function readObject(link: object): ForeignLink {
  return flatten("", link);
}

type Noting = {
  readonly unmapped: Map<string, Unmapped>;
  readonly warnings: CountedWarnings;
};

/** The same link in our fields; `unmapped` counts what is left over. */
export function convertLink(
  format: Format,
  link: ForeignLink,
  row: number,
  { unmapped, warnings }: Noting,
): GivenRow {
  const converted = format.convert(link);
  countWarnings(warnings, converted, row);
  for (const { name, text } of converted.unmapped) {
    const isListed = unmapped.has(name) || unmapped.size < mostNames;
    // A link's password, or an account's, is not shown again.
    const shown = /password|secret/i.test(name) ? "(hidden)" : text;
    countUnmapped(unmapped, isListed ? name : "(others)", shown);
  }
  return { fields: converted.fields, problems: [] };
}

export function countUnmapped(unmapped: Map<string, Unmapped>, field: string, text: string): void {
  const example = quoteLine(text).slice(1, -1);
  const known = unmapped.get(field) ?? { count: 0, example };
  unmapped.set(field, { field, count: known.count + 1, example: known.example });
}

/** Deeper than any of these services nests; what is deeper is kept as its JSON. */
const mostLevels = 8;

function flatten(name: string, value: unknown, levels = mostLevels): ForeignLink {
  if (value === null || value === undefined || value === "") return [];
  if (Array.isArray(value)) {
    const isPlain = value.every((item) => typeof item !== "object");
    const text = isPlain ? value.join(", ") : JSON.stringify(value);
    return value.length === 0 ? [] : describe(name, text);
  }
  if (typeof value === "string") return describe(name, value);
  if (typeof value !== "object" || levels === 0) return describe(name, JSON.stringify(value));
  return Object.entries(value).flatMap(([member, inner]) =>
    flatten(name === "" ? member : `${name}.${member}`, inner, levels - 1),
  );
}

function describe(name: string, text: string): ForeignLink {
  const trimmed = text.trim();
  return trimmed === "" ? [] : [{ name, key: simplifyName(name), text: trimmed }];
}

function parseObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null;
    return isObject && !isNestedTooDeep(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
