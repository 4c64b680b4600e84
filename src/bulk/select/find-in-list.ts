import { setImmediate as nextTurn } from "node:timers/promises";
import { CallFailure } from "../../client/call-failure.ts";
import { describePage } from "../../contract/describe-page.ts";
import type { ReadMeta } from "../../contract/fields.ts";
import type { ListInput, Sort } from "../../contract/filters.ts";
import { paging } from "../../contract/limits.ts";
import { links, type ReadLink } from "../../contract/links.ts";
import { listUnreadRows, noteUnread, type UnreadPart } from "../../contract/unread.ts";
import { untilTimeIsUp, type InTime } from "./limit-time.ts";
import { createOwnMatch, readAppNames } from "./match-own.ts";
import { listSpecified } from "./own-filters.ts";

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
  const read = await readPages(finding, input, (link, place) => {
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

async function readPages(
  { call, signal, noteRead }: InTime,
  input: FindInput,
  look: Look,
): Promise<ReadSoFar> {
  const { sort = newestFirst, after = 0 } = input;
  const filters = listSpecified(input);
  const seen = new Set<string>();
  const unread: UnreadPart[] = [];
  let limit: number = paging.max_limit;
  let of: number | undefined;
  for (let reached = after; ;) {
    const page = Math.floor(reached / limit) + 1;
    const asked = { page, limit, filters, sort };
    const answer = await untilTimeIsUp(call(links.index, asked, signal));
    if (answer === undefined) return { reached, of, unread, isWhole: false };
    const { meta } = answer;
    const lost = listUnreadRows(answer);
    const shown = answer.links.length + lost.length;
    const isEnd = typeof meta.next !== "number";
    // A deployment may have a smaller maximum than ours, and may not say so.
    const size = meta.limit ?? (isEnd ? limit : Math.max(1, shown));
    const isSmaller = size < limit;
    if (isSmaller) limit = size;
    if (isSmaller && page > 1) continue;
    const start = (page - 1) * size;
    const isStuck = shown > 0 && answer.links.every(({ id }) => seen.has(id)) && seen.size > 0;
    if (isStuck) throw refuseSame();
    for (const [index, link] of answer.links.entries()) {
      const place = start + index;
      // Links that are made meanwhile push the others on, to the page that is read next.
      if (place >= after && !seen.has(link.id)) look(link, place);
      seen.add(link.id);
    }
    for (const row of lost) {
      unread.push({ row: start + row, message: `Row ${start + row + 1} could not be read` });
    }
    reached = Math.max(reached, start + shown);
    of = meta.count ?? undefined;
    if (isEnd) return { reached, of, unread, isWhole: true };
    noteRead();
    // A service in this process answers without a pause: other work of the process runs here.
    await nextTurn();
  }
}

function refuseSame(): CallFailure {
  const message = "The server returned the same links again instead of the next ones.";
  return new CallFailure("bad_response", message, { effect: "none", retry: "never" });
}
