import { setImmediate as nextTurn } from "node:timers/promises";
import { CallFailure } from "../../client/call-failure.ts";
import {
  isOwnField,
  type FilterInput,
  type LinkSelection,
  type ListInput,
} from "../../contract/filters.ts";
import { links, type ReadLink } from "../../contract/links.ts";
import { parseTime } from "../../contract/parse-time.ts";
import { listUnreadRows } from "../../contract/unread.ts";
import type { Asking } from "../owner.ts";
import { untilTimeIsUp, type InTime } from "./limit-time.ts";
import { createFilterCheck, type FilterCheck } from "./match-filter.ts";
import { askOwn, asksOwn, createOwnMatch, listSpecified, readAppNames } from "./own-filters.ts";
import { readWholeList, type PageAsked, type WholeList } from "./read-whole-list.ts";

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
  /** The time was up: its links are some that were made since `before`, and no part follows. */
  readonly isCut: boolean;
};

type SelectOptions = {
  /** A text that is searched for beside the filters. */
  readonly search?: string | undefined;
} & Partial<Reading>;

type Reading = {
  readonly most: number;
  /** Called for every page that counts. */
  readonly noteRead: () => void;
};

/**
 * The same in parts, the oldest links first. Where a deployment does not know what is ours of the
 * question, every link that the other filters name is read, and held against the rest here.
 */
export async function* selectParts(
  asking: Asking,
  filters: Filters,
  { search, most = mostTogether, noteRead = () => undefined }: SelectOptions = {},
): AsyncGenerator<SelectedPart> {
  const selection = { filters, search };
  const reading = { most, noteRead };
  if (!asksOwn(selection)) return yield* readParts(asking, filters, reading);
  const specified = listSpecified(selection);
  if ((await askOwn(asking, { ...selection, limit: 1 })) !== undefined) {
    return yield* readParts(addOwn(asking, selection), specified, reading);
  }
  const apps = await readAppNames(asking, selection);
  const matches = createOwnMatch(selection, { apps, linkHost: asking.linkHost });
  for await (const part of readParts(asking, specified, reading)) {
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
    "The server does not return every field that these filters need; nothing was done.";
  return new CallFailure("bad_response", message, { effect: "none", retry: "never" });
}

async function* readParts(
  asking: Asking,
  filters: Filters,
  reading: Reading,
): AsyncGenerator<SelectedPart> {
  const checkFilters = createFilterCheck(asking);
  const waiting = [filters];
  /** Its oldest links were read, and no part of it yet. */
  let divided: Begun | undefined;
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    const begun: Begun = { filters: part, rows: new Map(), unread: new Set() };
    const read = await untilTimeIsUp(readOrHalve(asking, begun, checkFilters, reading));
    if (read === undefined) {
      const { rows, unread } = begun.rows.size === 0 && divided ? divided : begun;
      yield {
        rows: [...rows.values()],
        unread: unread.size,
        before: findBound(part, "gteq"),
        isCut: true,
      };
      return;
    }
    divided = "halves" in read ? begun : undefined;
    if ("halves" in read) waiting.push(...read.halves);
    else yield { ...read, before: findBound(part, "lt"), isCut: false };
  }
}

/** What was read of a part so far, however often it was begun. */
type Begun = {
  readonly filters: Filters;
  readonly rows: Map<string, ReadLink>;
  /** The places of links that could not be read. */
  readonly unread: Set<number>;
};

async function readOrHalve(
  asking: Asking,
  begun: Begun,
  checkFilters: FilterCheck,
  { most, noteRead }: Reading,
): Promise<SelectedLinks | { readonly halves: readonly Filters[] }> {
  const read = (atMost?: number) => readPart(asking, begun, { checkFilters, noteRead, atMost });
  const found = await read(most);
  if (found !== undefined) return found;
  const halves = await findHalves(asking, begun.filters);
  return halves === undefined ? ((await read()) ?? noLinks) : { halves };
}

const noLinks: SelectedLinks = { rows: [], unread: 0 };

type PartReading = Pick<Reading, "noteRead"> & {
  readonly checkFilters: FilterCheck;
  readonly atMost: number | undefined;
};

/** Undefined where there are more than may be read together. */
function readPart(
  { call, signal }: Asking,
  { filters, ...begun }: Begun,
  { checkFilters, noteRead, atMost }: PartReading,
): Promise<SelectedLinks | undefined> {
  const read = async (asked: PageAsked) => {
    const page = await call(links.index, { ...asked, filters }, signal);
    const { links: rows, meta } = page;
    await checkFilters(rows, filters);
    const unread = listUnreadRows(page);
    for (const row of rows) begun.rows.set(row.id, row);
    const start = (asked.page - 1) * (meta.limit ?? asked.limit);
    for (const place of unread) begun.unread.add(start + place);
    noteRead();
    // A service in this process answers without a pause: other work of the process runs here.
    await nextTurn();
    return { rows, unread, meta };
  };
  return readWholeList(read, "path", atMost);
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

/** Since when, or before when, all links of a part were made; undefined where no filter says it. */
function findBound(part: Filters, condition: "gteq" | "lt"): string | undefined {
  const value = part.find((filter) => isBound(filter, condition))?.value;
  return value === undefined ? undefined : String(value);
}

function readBound(part: Filters, condition: "gteq" | "lt"): number | undefined {
  const text = findBound(part, condition);
  return text === undefined ? undefined : (parseTime(text) ?? Number.NaN);
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

/** The links that filters name, for as long as the answer to one call may take. */

export type ReadWithin = {
  /** How many more there are that could not be read. */
  readonly unread: number;
  readonly isWhole: boolean;
  /**
   * Where to go on: all links that were made before this moment were read, and of the next ones
   * some may have been. Undefined where that is where it began.
   */
  readonly reached: string | undefined;
};

/**
 * The next call reads a part again that was not read to its end: links don't show when they were
 * created, so that no filter selects only the rest.
 */
const mostAtATime = 2000;

export async function readWithin(
  asking: InTime,
  filters: readonly FilterInput[],
  take: (links: readonly ReadLink[]) => void,
): Promise<ReadWithin> {
  const { noteRead } = asking;
  let unread = 0;
  for await (const part of selectParts(asking, filters, { most: mostAtATime, noteRead })) {
    take(part.rows);
    unread += part.unread;
    if (!part.isCut) continue;
    const isFurther = part.before !== findBound(filters, "gteq");
    return { unread, isWhole: false, reached: isFurther ? part.before : undefined };
  }
  return { unread, isWhole: true, reached: undefined };
}
