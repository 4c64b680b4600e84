import type { Clock } from "../../contract/clock.ts";
import { listUnreadRows } from "../../contract/deviations.ts";
import { paging } from "../../contract/limits.ts";
import { links, type ReadLink } from "../../contract/links.ts";
import type { Asking } from "../owner.ts";
import { listHosts } from "./destination-hosts.ts";
import { readIfAllowed } from "./read-if-allowed.ts";

/** Which hosts no older link of the project leads to, as far as a few requests can tell. */

export type Looked = {
  /** How many links of the project were looked at. */
  readonly links: number;
  /** Whether these are all that are old enough. */
  readonly isWhole: boolean;
};

type Looking = Asking & { readonly clock: Clock };

/** The API finds no link by its host; the most clicked ones are looked at, and no more of them. */
const mostPages = 5;
const mostPaths = paging.max_limit;
/**
 * A link asks nobody when it is made, so that one that was made right before a plan must not make
 * its host a known one.
 */
const newest_ms = 24 * 60 * 60_000;

/** The paths are those of links of the plan that lead to a host already. */
export async function findUnseenHosts(
  { call, signal, clock }: Looking,
  hosts: ReadonlyMap<string, readonly string[]>,
): Promise<{ readonly unseen: ReadonlySet<string>; readonly looked: Looked }> {
  const unseen = new Set(hosts.keys());
  let looked = { links: 0, isWhole: false };
  const value = new Date(clock.now() - newest_ms).toISOString();
  const isOlder = { field: "created_at", condition: "lt", value } as const;
  const drop = (found: readonly ReadLink[]) => {
    for (const link of found) for (const host of listHosts(link)) unseen.delete(host);
  };
  const sort = { field: "clicks", direction: "desc" } as const;
  for (let page = 1; page <= mostPages && unseen.size > 0 && !looked.isWhole; page += 1) {
    const asked = { page, limit: paging.max_limit, filters: [isOlder], sort };
    const found = await readIfAllowed(() => call(links.index, asked, signal));
    if (found === undefined) return { unseen, looked };
    drop(found.links);
    const isLast = typeof found.meta.next !== "number" && listUnreadRows(found).length === 0;
    looked = { links: looked.links + found.links.length, isWhole: isLast };
  }
  const paths = [...unseen].flatMap((host) => hosts.get(host) ?? []).slice(0, mostPaths);
  if (looked.isWhole || paths.length === 0) return { unseen, looked };
  const own = { field: "path", condition: "in", value: paths } as const;
  const asked = { limit: paging.max_limit, filters: [isOlder, own] };
  drop((await readIfAllowed(() => call(links.index, asked, signal)))?.links ?? []);
  return { unseen, looked };
}
