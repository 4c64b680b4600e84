import type { Link } from "../contract/links.ts";
import type { LeadingLink } from "./leading-link.ts";
import { findLink } from "./links.ts";
import { findLinksAt } from "./links-at.ts";
import { findQueryOf } from "./short-paths.ts";
import type { Tenant } from "./tenant.ts";

/** A link as it is visited at one of its addresses. */
export type VisitedAt<Shown = Link> = {
  readonly link: Shown;
  /** What its short path stands for beside the link, as if it had been typed; mostly nothing. */
  readonly query: string;
};

/** What a visit of a path finds: its own link, or else the one without the slash at its end. */
export async function findVisited(tenant: Tenant, path: string): Promise<VisitedAt | undefined> {
  const [visited] = await findAllVisited(tenant, [path]);
  const link = visited && (await findLink(tenant, visited.link.id));
  return link && { ...visited, link };
}

/** The same for many paths at once, in their order: no more of each link than what leads on. */
export async function findAllVisited(
  tenant: Tenant,
  paths: readonly string[],
): Promise<readonly (VisitedAt<LeadingLink> | undefined)[]> {
  const shorter = paths.map((path) => (path.endsWith("/") ? path.slice(0, -1) : undefined));
  const also = shorter.filter((path) => path !== undefined);
  const links = await findLinksAt(tenant, [...paths, ...also]);
  const found: (VisitedAt<LeadingLink> | undefined)[] = [];
  const short: Promise<void>[] = [];
  const addShort = async (place: number, at: string, link: LeadingLink) => {
    found[place] = { link, query: await findQueryOf(tenant, { linkId: link.id, path: at }) };
  };
  let behind = paths.length;
  for (const [place, path] of paths.entries()) {
    const own = links[place];
    const less = shorter[place];
    const link = own ?? (less === undefined ? undefined : links[behind]);
    if (less !== undefined) behind += 1;
    const at = own === undefined && less !== undefined ? less : path;
    const isWhole = link === undefined || at === link.path || at === link.shortened_path;
    found.push(link && { link, query: "" });
    if (!isWhole) short.push(addShort(place, at, link));
  }
  await Promise.all(short);
  return found;
}
