import type { Awaitable } from "../contract/awaitable.ts";
import type { Link } from "../contract/links.ts";
import type { LeadingLink } from "./leading-link.ts";
import { findLinkAt, findLinksAt } from "./links-at.ts";
import { findQueryOf } from "./short-paths.ts";
import type { Tenant } from "./tenant.ts";

/** A link as it is visited at one of its addresses. */
export type VisitedAt<Shown = Link> = {
  readonly link: Shown;
  /** What its short path stands for beside the link, as if it had been typed; mostly nothing. */
  readonly query: string;
};

/** What a visit of a path finds. */
export async function findVisited(tenant: Tenant, path: string): Promise<VisitedAt | undefined> {
  const link = await findLinkAt(tenant, path);
  return link && { link, query: await readQuery(tenant, link, path) };
}

/** The same for many paths at once, in their order: no more of each link than what leads on. */
export async function findAllVisited(
  tenant: Tenant,
  paths: readonly string[],
): Promise<readonly (VisitedAt<LeadingLink> | undefined)[]> {
  const links = await findLinksAt(tenant, paths);
  const found: (VisitedAt<LeadingLink> | undefined)[] = [];
  const short: Promise<void>[] = [];
  const addShort = async (place: number, at: string, link: LeadingLink) => {
    found[place] = { link, query: await readQuery(tenant, link, at) };
  };
  for (const [place, path] of paths.entries()) {
    const link = links[place];
    found.push(link && { link, query: "" });
    if (link !== undefined && !isOwnPath(link, path)) short.push(addShort(place, path, link));
  }
  await Promise.all(short);
  return found;
}

/** Every path of a link but its own two stands for a query as well. */
function isOwnPath({ path, shortened_path }: LeadingLink, at: string): boolean {
  return at === path || at === shortened_path;
}

function readQuery(tenant: Tenant, link: LeadingLink, at: string): Awaitable<string> {
  return isOwnPath(link, at) ? "" : findQueryOf(tenant, { linkId: link.id, path: at });
}
