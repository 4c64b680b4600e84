import type { Link } from "../contract/links.ts";
import { findLinksAt } from "./links-at.ts";
import { findQueryOf } from "./short-paths.ts";
import type { Tenant } from "./tenant.ts";

/** A link as it is visited at one of its addresses. */
export type VisitedAt = {
  readonly link: Link;
  /** What its short path stands for beside the link, as if it had been typed; mostly nothing. */
  readonly query: string;
};

/** What a visit of a path finds: its own link, or else the one without the slash at its end. */
export async function findVisited(tenant: Tenant, path: string): Promise<VisitedAt | undefined> {
  return (await findAllVisited(tenant, [path]))[0];
}

/** The same for many paths at once, in their order. */
export async function findAllVisited(
  tenant: Tenant,
  paths: readonly string[],
): Promise<readonly (VisitedAt | undefined)[]> {
  const shorter = paths.filter((path) => path.endsWith("/")).map(dropSlash);
  const links = await findLinksAt(tenant, [...paths, ...shorter]);
  const found: (VisitedAt | undefined)[] = [];
  const short: Promise<void>[] = [];
  const addShort = async (place: number, at: string, link: Link) => {
    found[place] = { link, query: await findQueryOf(tenant, { linkId: link.id, path: at }) };
  };
  for (const [place, path] of paths.entries()) {
    const at = links.has(path) || !path.endsWith("/") ? path : dropSlash(path);
    const link = links.get(at);
    const isWhole = link === undefined || at === link.path || at === link.shortened_path;
    found.push(link && { link, query: "" });
    if (!isWhole) short.push(addShort(place, at, link));
  }
  await Promise.all(short);
  return found;
}

function dropSlash(path: string): string {
  return path.slice(0, -1);
}
