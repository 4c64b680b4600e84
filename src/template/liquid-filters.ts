import type { FilterImplOptions } from "liquidjs";
import { listWords } from "./split-words.ts";

/**
 * The filters for templates. They replace the filters of liquidjs. The length of each result is
 * limited, so that a chain of filters cannot make a value grow without end. No filter evaluates
 * expressions, or reads files or the clock.
 */

/** Longer strings are truncated. The URLs of links are always shorter. */
const longestText = 8192;
export const longestList = 50;

/** Adds to the cost of a page. Throws if the total exceeds the limit. */
export type AddCost = (cost: number) => void;

type Value = unknown;
type FilterHandler = (value: Value, ...args: readonly Value[]) => Value;

/**
 * Lists the filters for liquidjs. Each use of a filter adds its input and output to the page's
 * cost.
 */
export function listFilters(
  readAddCost: (context: object) => AddCost,
): Readonly<Record<string, FilterImplOptions>> {
  return Object.fromEntries(
    Object.entries(handlers).map(([name, handle]): [string, FilterImplOptions] => [
      name,
      function (value: Value, ...args: Value[]) {
        const addCost = readAddCost(this.context);
        if (searching.has(name)) addCost(measureSearch(value, args[0]));
        const result = handle(value, ...args);
        addCost(1 + measure([value, ...args, result]) / 64);
        return result;
      },
    ]),
  );
}

/** Converts a value to a string. An object becomes an empty string. */
export function readText(value: Value): string {
  if (typeof value === "string") return cut(value);
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return Array.isArray(value) ? joinTexts(value, "") : "";
}

/** Truncates a string after a whole word, because part of a URL would be a different URL. */
export function cut(text: string): string {
  if (text.length <= longestText) return text;
  const end = text.slice(0, longestText + 1).search(/\s\S*$/);
  return end < 0 ? "" : text.slice(0, end);
}

/** Returns the cost of reading a value, in characters. A list item costs more than a character. */
export function measure(value: Value): number {
  if (typeof value === "string") return value.length;
  return Array.isArray(value)
    ? value.reduce<number>((sum, part) => sum + 16 + measure(part), 0)
    : 1;
}

/**
 * Returns the cost of searching for a string, in steps. In the worst case, the string is compared
 * at every position.
 */
export function measureSearch(value: Value, search: Value): number {
  return 1 + (measure(value) * measure(search)) / 4096;
}

const searching = listWords("remove remove_first replace replace_first split");

function readNumber(value: Value): number {
  const number = Number(typeof value === "string" ? value.trim() : value);
  return Number.isFinite(number) ? number : 0;
}

function readList(value: Value): readonly Value[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}

function onText(handle: (text: string, ...args: readonly string[]) => string): FilterHandler {
  return (value, ...args) => cut(handle(readText(value), ...args.map(readText)));
}

function onNumbers(handle: (one: number, other: number) => number): FilterHandler {
  return (value, other) => {
    const result = handle(readNumber(value), readNumber(other));
    return Number.isFinite(result) ? result : 0;
  };
}

/** Replaces up to `times` occurrences, or fewer if the result is already too long. */
function replaceTexts(text: string, search: string, by: string, times: number): string {
  if (search === "") return text;
  let result = "";
  let start = 0;
  for (let count = 0; count < times && result.length <= longestText; count += 1) {
    const at = text.indexOf(search, start);
    if (at < 0) break;
    result += text.slice(start, at) + by;
    start = at + search.length;
  }
  return result + text.slice(start);
}

function joinTexts(values: readonly Value[], between: string): string {
  let text = "";
  for (const [index, value] of values.entries()) {
    if (text.length > longestText) break;
    text += (index === 0 ? "" : between) + (Array.isArray(value) ? "" : readText(value));
  }
  return cut(text);
}

function shorten(text: string, length: number, end: string): string {
  const letters = Array.from(text);
  if (letters.length <= length) return text;
  return letters.slice(0, Math.max(0, length - end.length)).join("") + end;
}

const handlers: Readonly<Record<string, FilterHandler>> = {
  append: onText((text, more = "") => text + more),
  prepend: onText((text, more = "") => more + text),
  upcase: onText((text) => text.toUpperCase()),
  downcase: onText((text) => text.toLowerCase()),
  capitalize: onText((text) => text.charAt(0).toUpperCase() + text.slice(1).toLowerCase()),
  // These two filters change nothing, because all output is escaped.
  escape: onText((text) => text),
  escape_once: onText((text) => text),
  url_encode: onText((text) => encodeURIComponent(text.toWellFormed()).replaceAll("%20", "+")),
  strip: onText((text) => text.trim()),
  lstrip: onText((text) => text.trimStart()),
  rstrip: onText((text) => text.trimEnd()),
  strip_newlines: onText((text) => text.replace(/\r?\n/g, "")),
  replace: onText((text, search = "", by = "") => replaceTexts(text, search, by, longestText)),
  replace_first: onText((text, search = "", by = "") => replaceTexts(text, search, by, 1)),
  remove: onText((text, search = "") => replaceTexts(text, search, "", longestText)),
  remove_first: onText((text, search = "") => replaceTexts(text, search, "", 1)),
  truncate: (value, length = 50, end = "...") =>
    shorten(readText(value), readNumber(length), readText(end)),
  truncatewords: (value, count = 15, end = "...") => {
    const words = readText(value).split(/\s+/).filter(Boolean);
    const most = Math.max(1, readNumber(count));
    return words.length <= most ? words.join(" ") : words.slice(0, most).join(" ") + readText(end);
  },
  slice: (value, start = 0, length = 1) => {
    const isList = Array.isArray(value);
    const all: readonly Value[] = isList ? value : Array.from(readText(value));
    const from = readNumber(start) < 0 ? all.length + readNumber(start) : readNumber(start);
    const part = all.slice(Math.max(0, from), Math.max(0, from + readNumber(length)));
    return isList ? part : part.join("");
  },
  split: (value, between = " ") => readText(value).split(readText(between), longestList),
  join: (value, between = " ") => joinTexts(readList(value), readText(between)),
  first: (value) => (Array.isArray(value) ? value[0] : Array.from(readText(value))[0]),
  last: (value) => (Array.isArray(value) ? value.at(-1) : Array.from(readText(value)).at(-1)),
  size: (value) => (Array.isArray(value) ? value.length : Array.from(readText(value)).length),
  default: (value, other) => {
    const isEmpty = value === undefined || value === null || value === false || value === "";
    return isEmpty || (Array.isArray(value) && value.length === 0) ? other : value;
  },
  plus: onNumbers((one, other) => one + other),
  minus: onNumbers((one, other) => one - other),
  times: onNumbers((one, other) => one * other),
  divided_by: onNumbers((one, other) => {
    const isWhole = Number.isInteger(one) && Number.isInteger(other);
    return isWhole ? Math.floor(one / other) : one / other;
  }),
  modulo: onNumbers((one, other) => one % other),
  at_least: onNumbers(Math.max),
  at_most: onNumbers(Math.min),
  abs: onNumbers((one) => Math.abs(one)),
  ceil: onNumbers((one) => Math.ceil(one)),
  floor: onNumbers((one) => Math.floor(one)),
  round: onNumbers((one, digits) => {
    const scale = 10 ** Math.min(Math.max(Math.trunc(digits), 0), 10);
    return Math.round(one * scale) / scale;
  }),
};

export const filterNames: readonly string[] = Object.keys(handlers);
