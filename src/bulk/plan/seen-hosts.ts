import type { Clock } from "../../contract/clock.ts";
import type { ReceivedMeta } from "../../contract/fields.ts";
import type { ListInput } from "../../contract/filters.ts";
import type { JsonObject } from "../../contract/json.ts";
import { paging } from "../../contract/limits.ts";
import { links, type ReadLink } from "../../contract/links.ts";
import { parseTime } from "../../contract/local-time.ts";
import { readDestinationHost } from "../../contract/rules/store-address.ts";
import { listUnreadRows } from "../../contract/server-answer.ts";
import type { History } from "../../state/history.ts";
import type { ServerAccess } from "../owner.ts";
import { askOwn } from "../select/own-filters.ts";
import { readIfAllowed } from "../select/read-if-allowed.ts";

/** Finds hosts to which no link redirects that has been unchanged for a day. */

export type HostCheckExtent = {
  /** How many links of the project were checked. */
  readonly links: number;
  /** Whether these are all that have not changed for a day. */
  readonly isWhole: boolean;
};

export type HostCheckOptions = ServerAccess & {
  readonly clock: Clock;
  /** Ids and paths of the links that Waypost itself has written since a time, if that is known. */
  readonly readWritten: (since: number) => Promise<ReadonlySet<string> | undefined>;
};

/** The API finds no link by its host; the most clicked ones are looked at, and no more of them. */
const mostPages = 5;
const mostPaths = paging.max_limit;
/**
 * No one is asked when a link is made, or gets its first destination. So a link that changed right
 * before a plan must not make its host a known one.
 */
const newest_ms = 24 * 60 * 60_000;

/** `hosts` has paths of links in the plan that already redirect to each host. */
export async function findUnseenHosts(
  looking: HostCheckOptions,
  hosts: ReadonlyMap<string, readonly string[]>,
): Promise<{ readonly unseen: ReadonlySet<string>; readonly looked: HostCheckExtent }> {
  const unseen = new Set(hosts.keys());
  let looked = { links: 0, isWhole: false };
  const readOlder = createReadOlder(looking);
  const sort = { field: "clicks", direction: "desc" } as const;
  for (let page = 1; page <= mostPages && unseen.size > 0 && !looked.isWhole; page += 1) {
    const found = await look({ page, sort });
    if (found === undefined) return { unseen, looked };
    looked = { links: looked.links + found.links.length, isWhole: found.isLast };
  }
  const paths = [...unseen].flatMap((host) => hosts.get(host) ?? []).slice(0, mostPaths);
  const filters = [{ field: "path", condition: "in", value: paths } as const];
  if (!looked.isWhole && paths.length > 0) await look({ filters });
  return { unseen, looked };

  async function look(input: ListInput): Promise<Older | undefined> {
    const found = await readIfAllowed(() => readOlder(input));
    for (const link of found?.links ?? []) for (const host of listHosts(link)) unseen.delete(host);
    return found;
  }
}

type Older = { readonly links: readonly ReadLink[]; readonly isLast: boolean };

/**
 * Reads links that have not changed for a day. Our own service knows when a link changed. Of a
 * remote server's links only the age is sure, and what Waypost's own history knows of them. Without
 * that history any of them may have changed, so none is read.
 */
function createReadOlder(
  looking: HostCheckOptions,
): (input: ListInput) => Promise<Older | undefined> {
  const { call, signal, clock, readWritten } = looking;
  const since = clock.now() - newest_ms;
  const value = new Date(since).toISOString();
  let written: ReturnType<typeof readWritten> | undefined;
  return async (input) => {
    const ask = (field: string): ListInput => {
      const older = { field, condition: "lt", value } as const;
      return { ...input, limit: paging.max_limit, filters: [older, ...(input.filters ?? [])] };
    };
    const own = written === undefined ? await askOwn(looking, ask("updated_at")) : undefined;
    if (own !== undefined) return { links: own.links, isLast: isLastPage(own) };
    written ??= readWritten(since);
    const recent = await written;
    if (recent === undefined) return undefined;
    const page = await call(links.index, ask("created_at"), signal);
    const isOld = ({ id, path, ...rest }: ReadLink) => {
      const updated = parseTime(String(readUpdated(rest)));
      const isUpdated = updated !== null && updated >= since;
      return !isUpdated && !recent.has(id) && !recent.has(path ?? "");
    };
    return { links: page.links.filter(isOld), isLast: isLastPage(page) };
  };
}

/** The specification shows no such time, but a server may. */
function readUpdated({ updated_at }: JsonObject): unknown {
  return updated_at;
}

function isLastPage(page: { readonly meta: ReceivedMeta }): boolean {
  return typeof page.meta.next !== "number" && listUnreadRows(page).length === 0;
}

const destinations = ["url", "ios_fallback_url", "android_fallback_url"] as const;

/** The hosts of a link's destinations, each once, as browsers request them. */
export function listHosts(link: JsonObject): ReadonlySet<string> {
  const hosts = destinations.flatMap((field) => {
    const address = link[field];
    return (typeof address === "string" ? readDestinationHost(address) : undefined) ?? [];
  });
  return new Set(hosts);
}

/**
 * Ids and paths of the links that Waypost has written since a time, one by one or by jobs.
 * Undefined where the history had to drop changes since then.
 */
export async function listWrittenLinks(
  history: History,
  realm: string | undefined,
  since: number,
): Promise<ReadonlySet<string> | undefined> {
  if (realm === undefined) return new Set();
  const written = await history.listWritten(realm, since);
  // Asked last, because changes may be dropped while they are listed.
  return (await history.isWhole(realm, since)) ? written : undefined;
}
