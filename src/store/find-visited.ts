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

/** What a visit of a path finds: its own link, or else the one without the slash at its end. */
export async function findVisited(tenant: Tenant, path: string): Promise<VisitedAt | undefined> {
  const own = await findLinkAt(tenant, path);
  const less = own === undefined ? dropSlash(path) : undefined;
  const link = less === undefined ? own : await findLinkAt(tenant, less);
  if (link === undefined) return undefined;
  return { link, query: await readQuery(tenant, link, less ?? path) };
}

/** The same for many paths at once, in their order: no more of each link than what leads on. */
export async function findAllVisited(
  tenant: Tenant,
  paths: readonly string[],
): Promise<readonly (VisitedAt<LeadingLink> | undefined)[]> {
  const shorter = paths.map(dropSlash);
  const also = shorter.filter((path) => path !== undefined);
  const links = await findLinksAt(tenant, [...paths, ...also]);
  const found: (VisitedAt<LeadingLink> | undefined)[] = [];
  const short: Promise<void>[] = [];
  const addShort = async (place: number, at: string, link: LeadingLink) => {
    found[place] = { link, query: await readQuery(tenant, link, at) };
  };
  let behind = paths.length;
  for (const [place, path] of paths.entries()) {
    const own = links[place];
    const less = shorter[place];
    const link = own ?? (less === undefined ? undefined : links[behind]);
    if (less !== undefined) behind += 1;
    const at = own === undefined && less !== undefined ? less : path;
    found.push(link && { link, query: "" });
    if (link !== undefined && !isOwnPath(link, at)) short.push(addShort(place, at, link));
  }
  await Promise.all(short);
  return found;
}

function dropSlash(path: string): string | undefined {
  return path.endsWith("/") ? path.slice(0, -1) : undefined;
}

/** Every path of a link but its own two stands for a query as well. */
function isOwnPath({ path, shortened_path }: LeadingLink, at: string): boolean {
  return at === path || at === shortened_path;
}

function readQuery(tenant: Tenant, link: LeadingLink, at: string): Awaitable<string> {
  return isOwnPath(link, at) ? "" : findQueryOf(tenant, { linkId: link.id, path: at });
}
