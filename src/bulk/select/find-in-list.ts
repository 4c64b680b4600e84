import { setImmediate as nextTurn } from "node:timers/promises";
import { CallFailure } from "../../client/call-failure.ts";
import { describePage } from "../../contract/describe-page.ts";
import type { ReadMeta } from "../../contract/fields.ts";
import type { ListInput, Sort } from "../../contract/filters.ts";
import { paging } from "../../contract/limits.ts";
import { links, type ReadLink } from "../../contract/links.ts";
import { listUnreadRows, noteUnread, type UnreadPart } from "../../contract/unread.ts";
import { untilTimeIsUp, type InTime } from "./limit-time.ts";
import { createOwnMatch, listSpecified, readAppNames } from "./own-filters.ts";
import { readPages, type PageAsked } from "./read-whole-list.ts";

/**
 * A page of the links that filters of ours name, at a deployment that does not know these: its
 * list is read in the order that is asked for, as far as the time for one answer reaches.
 */

export type FindInput = ListInput & {
  /** So many links at the list's beginning were looked at before, and are left out. */
  readonly after?: number | undefined;
};

export type FoundPage = {
  readonly links: readonly ReadLink[];
  readonly meta: ReadMeta & Partial<Reached>;
};

/** How far it came, where that was not to the end. */
type Reached = {
  readonly checked: number;
  readonly of: number | undefined;
  readonly complete: false;
};

/** As our own service orders a list. */
const newestFirst: Sort = { field: "created_at", direction: "desc" };

export async function findInList(finding: InTime, input: FindInput): Promise<FoundPage> {
  const { page = 1, limit = paging.default_limit } = input;
  const apps = await readAppNames(finding, input);
  const matches = createOwnMatch(input, { apps, linkHost: finding.linkHost });
  const found: Placed[] = [];
  const untold: UnreadPart[] = [];
  const read = await lookAtEach(finding, input, (link, place) => {
    const verdict = matches(link);
    if (verdict === true) found.push({ link, place });
    else if (verdict === undefined) untold.push(lacksField(place));
  });
  const { reached, of, isWhole } = read;
  // A link that does not tell what was asked may be one of those that are looked for.
  const lacks = [...read.unread, ...untold];
  const wanted = found.slice((page - 1) * limit, page * limit);
  const rows = wanted.map(({ link }) => link);
  const meta = describePage({ page, limit }, found.length);
  if (isWhole) return noteUnread({ links: rows, meta }, lacks);
  // What was found and is not shown is looked at once more.
  const isMore = found.length > page * limit;
  const checked = isMore ? (wanted.at(-1)?.place ?? reached - 1) + 1 : reached;
  const { count } = meta;
  const far = { page, limit, count, checked, of, complete: false } as const;
  return noteUnread({ links: rows, meta: far }, lacks);
}

type Placed = { readonly link: ReadLink; readonly place: number };

function lacksField(place: number): UnreadPart {
  return { message: `Row ${place + 1} does not show a field that the search needs` };
}

type ReadSoFar = {
  /** Rows that could not be read. */
  readonly unread: readonly UnreadPart[];
  readonly reached: number;
  readonly of: number | undefined;
  readonly isWhole: boolean;
};

type Look = (link: ReadLink, place: number) => void;

/** So many are looked at for one answer. */
const mostLinks = 10_000;

async function lookAtEach(
  { call, signal, noteRead }: InTime,
  input: FindInput,
  look: Look,
): Promise<ReadSoFar> {
  const { sort = newestFirst, after = 0 } = input;
  const filters = listSpecified(input);
  const seen = new Set<string>();
  const unread: UnreadPart[] = [];
  let end = { reached: after, of: undefined as number | undefined, isWhole: false };
  const read = async (asked: PageAsked) => {
    const page = await call(links.index, { ...asked, filters }, signal);
    return { rows: page.links, unread: listUnreadRows(page), meta: page.meta };
  };
  const pages = readPages(read, sort, after);
  for (;;) {
    const next = await untilTimeIsUp(pages.next());
    if (next === undefined || end.reached - after >= mostLinks) return { ...end, unread };
    if (next.done === true) throw refuseSame();
    const { rows, start, reached, count, isLast } = next.value;
    for (const [index, link] of rows.entries()) {
      const place = start + index;
      // Links that are made meanwhile push the others on, to the page that is read next.
      if (place >= after && !seen.has(link.id)) look(link, place);
      seen.add(link.id);
    }
    for (const row of next.value.unread) {
      unread.push({ row: start + row, message: `Row ${start + row + 1} could not be read` });
    }
    end = { reached, of: count, isWhole: isLast };
    if (isLast) return { ...end, unread };
    noteRead();
    // A service in this process answers without a pause: other work of the process runs here.
    await nextTurn();
  }
}

function refuseSame(): CallFailure {
  const message = "The server returned the same links again instead of the next ones.";
  return new CallFailure("bad_response", message, { effect: "none", retry: "never" });
}
