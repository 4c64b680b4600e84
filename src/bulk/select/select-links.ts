import { setImmediate as nextTurn } from "node:timers/promises";
import { CallFailure } from "../../client/call-failure.ts";
import {
  isOwnField,
  type FilterInput,
  type LinkSelection,
  type ListInput,
} from "../../contract/filters.ts";
import { listUnreadRows } from "../../contract/deviations.ts";
import { links, type ReadLink } from "../../contract/links.ts";
import { parseTime } from "../../contract/parse-time.ts";
import type { Asking } from "../owner.ts";
import { createOwnMatch, readAppNames } from "./match-own.ts";
import { askOwn, asksOwn, listSpecified } from "./own-filters.ts";
import { readWholeList, type PageAsked, type WholeList } from "./read-whole-list.ts";
import { createFilterCheck, type FilterCheck } from "./verify-filters.ts";

/** Every link that filters name, read while others may write. */

type Filters = readonly FilterInput[];

/** A longer list is read in parts: pages far behind cost most, and only one part is held. */
const mostTogether = 5000;
/** How often the parts of a list are counted, where others write meanwhile. */
const mostCounts = 3;

export async function selectLinks(asking: Asking, filters: Filters): Promise<SelectedLinks> {
  const rows: ReadLink[] = [];
  let unread = 0;
  for await (const part of selectParts(asking, filters)) {
    rows.push(...part.rows);
    unread += part.unread;
  }
  return { rows, unread };
}

export type SelectedLinks = WholeList<ReadLink>;

type SelectedPart = SelectedLinks & {
  /** Its links were made before this moment, and all others since; undefined in the last part. */
  readonly before: string | undefined;
};

type SelectOptions = {
  /** A text that is searched for beside the filters. */
  readonly search?: string | undefined;
  readonly most?: number;
};

/**
 * The same in parts, the oldest links first. Where a deployment does not know what is ours of the
 * question, every link that the other filters name is read, and held against the rest here.
 */
export async function* selectParts(
  asking: Asking,
  filters: Filters,
  { search, most = mostTogether }: SelectOptions = {},
): AsyncGenerator<SelectedPart> {
  const selection = { filters, search };
  if (!asksOwn(selection)) return yield* readParts(asking, filters, most);
  const specified = listSpecified(selection);
  if ((await askOwn(asking, { ...selection, limit: 1 })) !== undefined) {
    return yield* readParts(addOwn(asking, selection), specified, most);
  }
  const apps = await readAppNames(asking, selection);
  const matches = createOwnMatch(selection, { apps, linkHost: asking.linkHost });
  for await (const part of readParts(asking, specified, most)) {
    const rows = part.rows.filter((link) => {
      const verdict = matches(link);
      if (verdict === undefined) throw refuseUntold();
      return verdict;
    });
    yield { ...part, rows };
  }
}

/** Asks with what is ours each time, and believes no page that was not answered by it. */
function addOwn(asking: Asking, { filters = [], search }: LinkSelection): Asking {
  const own = filters.filter((filter) => isOwnField(links.index.list, filter.field));
  const call: Asking["call"] = async (_, input, signal = asking.signal) => {
    // Nothing else is asked for here than lists of links.
    const asked = input as ListInput;
    const all = { ...asked, filters: [...(asked.filters ?? []), ...own], search };
    const page = await askOwn({ ...asking, signal }, all);
    if (page === undefined) throw refuseUntold();
    return page as never;
  };
  return { ...asking, call };
}

function refuseUntold(): CallFailure {
  const message =
    "The deployment does not tell of every link what these filters ask; nothing was done.";
  return new CallFailure("bad_response", message, { effect: "none", retry: "never" });
}

async function* readParts(
  asking: Asking,
  filters: Filters,
  most: number,
): AsyncGenerator<SelectedPart> {
  const checkFilters = createFilterCheck(asking);
  const waiting = [filters];
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    const found = await readPart(asking, part, checkFilters, most);
    if (found !== undefined) {
      yield { ...found, before: readEnd(part) };
      continue;
    }
    const halves = await findHalves(asking, part);
    if (halves !== undefined) {
      waiting.push(...halves);
      continue;
    }
    const whole = (await readPart(asking, part, checkFilters)) ?? noLinks;
    yield { ...whole, before: readEnd(part) };
  }
}

const noLinks: SelectedLinks = { rows: [], unread: 0 };

/** Undefined where there are more than may be read together. */
function readPart(
  { call, signal }: Asking,
  filters: Filters,
  checkFilters: FilterCheck,
  most?: number,
): Promise<SelectedLinks | undefined> {
  const read = async (asked: PageAsked) => {
    const page = await call(links.index, { ...asked, filters }, signal);
    const { links: rows, meta } = page;
    await checkFilters(rows, filters);
    // A service in this process answers without a pause: other work of the process runs here.
    await nextTurn();
    return { rows, unread: listUnreadRows(page), meta };
  };
  return readWholeList(read, "path", most);
}

/** The first bounds of a search; links outside them stay in the outermost parts. */
const anyTime = { from: Date.UTC(2010, 0), to: Date.UTC(2040, 0) } as const;

/**
 * The younger half and the older one, without those in which there is nothing. Undefined where
 * there is no moment between their ends, and where together they are never the whole.
 */
async function findHalves(asking: Asking, whole: Filters): Promise<readonly Filters[] | undefined> {
  const from = readBound(whole, "gteq") ?? anyTime.from;
  const to = readBound(whole, "lt") ?? Math.max(anyTime.to, from);
  const middle = Math.floor((from + to) / 2);
  if (!(from < middle && middle < to)) return undefined;
  const [younger, older] = [bound(whole, "gteq", middle), bound(whole, "lt", middle)];
  for (let turn = 0; turn < mostCounts; turn += 1) {
    const count = await countLinks(asking, whole);
    const counts = [await countLinks(asking, younger), await countLinks(asking, older)] as const;
    if (counts[0] + counts[1] !== count) continue;
    return [...(counts[0] > 0 ? [younger] : []), ...(counts[1] > 0 ? [older] : [])];
  }
  return undefined;
}

function readEnd(part: Filters): string | undefined {
  const end = part.find((filter) => isBound(filter, "lt"))?.value;
  return end === undefined ? undefined : String(end);
}

function readBound(filters: Filters, condition: "gteq" | "lt"): number | undefined {
  const found = filters.find((filter) => isBound(filter, condition));
  return found && (parseTime(String(found.value)) ?? Number.NaN);
}

function isBound({ field, condition }: FilterInput, wanted: string): boolean {
  return field === "created_at" && condition === wanted;
}

/** The API takes one filter of each field and condition, so this one replaces a wider one. */
function bound(filters: Filters, condition: "gteq" | "lt", time: number): Filters {
  const others = filters.filter((filter) => !isBound(filter, condition));
  return [...others, { field: "created_at", condition, value: new Date(time).toISOString() }];
}

/** A list is only divided where its parts are counted (`count` in readWholeList). */
async function countLinks({ call, signal }: Asking, filters: Filters): Promise<number> {
  return (await call(links.index, { limit: 1, filters }, signal)).meta.count ?? 0;
}
