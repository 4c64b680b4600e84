import { CallFailure } from "../../client/call-failure.ts";
import type { FilterInput, LinkSelection, ListInput } from "../../contract/filters.ts";
import { links, type ReadLink } from "../../contract/links.ts";
import { parseTime } from "../../contract/local-time.ts";
import type { ServerAccess } from "../owner.ts";
import { untilTimeIsUp, type InTime } from "./limit-time.ts";
import { createFilterCheck } from "./match-filter.ts";
import {
  askOwn,
  asksOwn,
  createOwnMatch,
  listOwn,
  listSpecified,
  readAppNames,
} from "./own-filters.ts";
import { readList, type ListPart } from "./read-list.ts";

/** Every link that filters name, read while others may write. */

type Filters = readonly FilterInput[];

/**
 * The links page by page, oldest first, by filters and a search text. If the server does not know
 * our own filters, every link that matches the other filters is read and checked here.
 */
export async function* selectParts(
  asking: ServerAccess,
  filters: Filters,
  search?: string,
): AsyncGenerator<ListPart<ReadLink>> {
  const selection = { filters, search };
  if (!asksOwn(selection)) return yield* readChecked(asking, filters);
  const specified = listSpecified(selection);
  if ((await askOwn(asking, { ...selection, limit: 1 })) !== undefined) {
    return yield* readChecked(addOwn(asking, selection), specified);
  }
  const apps = await readAppNames(asking, selection);
  const matches = createOwnMatch(selection, apps, asking.linkHost);
  for await (const { rows, unread } of readChecked(asking, specified)) {
    const verdicts = rows.map(matches);
    if (verdicts.includes(undefined)) throw refuseUnknown();
    yield { rows: rows.filter((_, index) => verdicts[index]), unread };
  }
}

async function* readChecked(
  asking: ServerAccess,
  filters: Filters,
): AsyncGenerator<ListPart<ReadLink>> {
  const checkFilters = createFilterCheck(asking);
  for await (const part of readList<ReadLink>(asking, links.index, filters)) {
    await checkFilters(part.rows, filters);
    yield part;
  }
}

/** Asks with what is ours each time, and believes no page that was not answered by it. */
function addOwn(asking: ServerAccess, selection: LinkSelection): ServerAccess {
  const call: ServerAccess["call"] = async (_, input, signal = asking.signal) => {
    // Nothing else is asked for here than lists of links.
    const asked = input as ListInput;
    const filters = [...(asked.filters ?? []), ...listOwn(selection)];
    const page = await askOwn(
      { ...asking, signal },
      { ...asked, filters, search: selection.search },
    );
    if (page === undefined) throw refuseUnknown();
    return page as never;
  };
  return { ...asking, call };
}

function refuseUnknown(): CallFailure {
  const message =
    "The server does not return every field that these filters need; nothing was done.";
  return new CallFailure("bad_response", message, { effect: "none", retry: "never" });
}

/** The links that filters name, for as long as the answer to one call may take. */

export type ReadWithin = Awaited<ReturnType<typeof readWithin>>;

/**
 * `unread` counts the links that could not be read. `reached` is where to continue: all links
 * created before this moment were read, and some later ones may have been. It is undefined when no
 * such moment was found in time.
 */
export async function readWithin(
  asking: InTime,
  filters: Filters,
  take: (links: readonly ReadLink[]) => void,
) {
  let count = 0;
  let unread = 0;
  const parts = selectParts(asking, filters);
  while (count === 0 || !asking.isLate()) {
    const reading = parts.next();
    const next = count === 0 ? await reading : await untilTimeIsUp(reading);
    if (next === undefined) break;
    if (next.done === true) return { unread, isWhole: true, reached: undefined };
    take(next.value.rows);
    unread += next.value.unread;
    count += next.value.rows.length + next.value.unread;
  }
  return {
    unread,
    isWhole: false,
    reached: await untilTimeIsUp(findMoment(asking, filters, count)),
  };
}

/** The first bounds of the search for a moment. */
const anyTime = { gteq: Date.UTC(2010, 0), lt: Date.UTC(2040, 0) } as const;

/**
 * A moment before which at least half of the first `most` links were created, and no others. Links
 * don't show when they were created, but the server can count them by that time.
 */
async function findMoment(
  { call, signal }: ServerAccess,
  filters: Filters,
  most: number,
): Promise<string | undefined> {
  let from = readBound(filters, "gteq");
  let to = readBound(filters, "lt");
  while (to - from > 1) {
    const middle = Math.floor((from + to) / 2);
    const value = new Date(middle).toISOString();
    // The API takes one filter of each field and condition, so this one replaces a wider one.
    const others = listSpecified({ filters }).filter((filter) => !isBound(filter, "lt"));
    const before = [...others, { field: "created_at", condition: "lt", value } as const];
    const { meta } = await call(links.index, { limit: 1, filters: before }, signal);
    const count = meta.count ?? 0;
    if (count > most) to = middle;
    else if (count * 2 >= most) return value;
    else from = middle;
  }
  return undefined;
}

function readBound(filters: Filters, condition: "gteq" | "lt"): number {
  const bound = filters.find((filter) => isBound(filter, condition));
  return bound === undefined ? anyTime[condition] : (parseTime(String(bound.value)) ?? Number.NaN);
}

function isBound({ field, condition }: FilterInput, wanted: string): boolean {
  return field === "created_at" && condition === wanted;
}
