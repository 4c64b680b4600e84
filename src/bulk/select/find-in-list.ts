import { CallFailure } from "../../client/call-failure.ts";
import { describePage, type ReceivedMeta } from "../../contract/fields.ts";
import type { ListInput } from "../../contract/filters.ts";
import { paging } from "../../contract/limits.ts";
import { links, type ReadLink } from "../../contract/links.ts";
import { noteUnread, type UnreadPart } from "../../contract/server-answer.ts";
import { untilTimeIsUp, type InTime } from "./limit-time.ts";
import { createOwnMatch, listSpecified, readAppNames } from "./own-filters.ts";
import { readPages } from "./read-list.ts";

/**
 * A page of the links that match our own filters, for a server that does not know these filters.
 * Its list is read in the requested order, as far as the time for one answer allows.
 */

export type FindInput = ListInput & {
  /** So many links at the list's beginning were looked at before, and are left out. */
  readonly after?: number | undefined;
};

export type FoundPage = {
  readonly links: readonly ReadLink[];
  /** Includes how far the search came, if it did not reach the end. */
  readonly meta: ReceivedMeta & {
    readonly checked?: number;
    readonly of?: number | undefined;
    readonly complete?: false;
  };
};

/** The most links that are checked for one answer. */
const mostLinks = 10_000;
/** As our own service orders a list. */
const newestFirst = { field: "created_at", direction: "desc" } as const;

export async function findInList(finding: InTime, input: FindInput): Promise<FoundPage> {
  const { page = 1, limit = paging.default_limit, sort = newestFirst, after = 0 } = input;
  const apps = await readAppNames(finding, input);
  const matches = createOwnMatch(input, apps, finding.linkHost);
  const query = { filters: listSpecified(input), sort };
  const pages = readPages<ReadLink>(finding, links.index, query, after);
  const seen = new Set<string>();
  const found: { readonly link: ReadLink; readonly place: number }[] = [];
  const lacks: UnreadPart[] = [];
  let reached = after;
  let of: number | undefined;
  let isWhole = false;
  while (!isWhole && reached - after < mostLinks) {
    const reading = pages.next();
    // Before anything was read there is nothing to return, so a failure is thrown.
    const next = reached === after ? await reading : await untilTimeIsUp(reading);
    if (next === undefined) break;
    if (next.done === true) throw refuseSame();
    const { rows, start, unreadRows } = next.value;
    for (const [index, link] of rows.entries()) {
      const place = start + index;
      // Links that are made meanwhile push the others on, to the page that is read next.
      const verdict = place >= after && !seen.has(link.id) && matches(link);
      seen.add(link.id);
      if (verdict === true) found.push({ link, place });
      // A link that does not show a needed field may be a match.
      const message = `Row ${place + 1} does not show a field that the search needs`;
      if (verdict === undefined) lacks.push({ message });
    }
    for (const row of unreadRows) {
      lacks.push({ row: start + row, message: `Row ${start + row + 1} could not be read` });
    }
    ({ reached, count: of, isLast: isWhole } = next.value);
  }
  const shown = found.slice((page - 1) * limit, page * limit);
  const rows = shown.map(({ link }) => link);
  const meta = describePage({ page, limit }, found.length);
  if (isWhole) return noteUnread({ links: rows, meta }, lacks);
  // The next call finds the matches again that are not shown here.
  const isMore = found.length > page * limit;
  const checked = isMore ? (shown.at(-1)?.place ?? reached - 1) + 1 : reached;
  const { count } = meta;
  const far = { page, limit, count, checked, of, complete: false } as const;
  return noteUnread({ links: rows, meta: far }, lacks);
}

function refuseSame(): CallFailure {
  const message = "The server returned the same links again instead of the next ones.";
  return new CallFailure("bad_response", message, { effect: "none", retry: "never" });
}
