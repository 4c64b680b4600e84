import { paging } from "../../contract/limits.ts";
import { links } from "../../contract/links.ts";
import type { Asking } from "../owner.ts";
import { listHosts } from "./destination-hosts.ts";
import { readIfAllowed } from "./read-if-allowed.ts";

/** Which hosts no link of the project leads to, as far as a few requests can tell. */

export type Looked = {
  /** How many links of the project were looked at. */
  readonly links: number;
  /** Whether these are all that it has. */
  readonly isWhole: boolean;
};

/** The API finds no link by its host; the most clicked ones are looked at, and no more of them. */
const mostPages = 5;

export async function findUnseenHosts(
  { call, signal }: Asking,
  hosts: readonly string[],
): Promise<{ readonly unseen: ReadonlySet<string>; readonly looked: Looked }> {
  const unseen = new Set(hosts);
  let looked = { links: 0, isWhole: false };
  const sort = { field: "clicks", direction: "desc" } as const;
  for (let page = 1; page <= mostPages && unseen.size > 0 && !looked.isWhole; page += 1) {
    const asked = { page, limit: paging.max_limit, sort };
    const found = await readIfAllowed(() => call(links.index, asked, signal));
    if (found === undefined) break;
    for (const link of found.links) for (const host of listHosts(link)) unseen.delete(host);
    const isLast = typeof found.meta.next !== "number";
    looked = { links: looked.links + found.links.length, isWhole: isLast };
  }
  return { unseen, looked };
}
