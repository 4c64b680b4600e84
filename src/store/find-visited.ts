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
  return (await findAllVisited(tenant, [path])).get(path);
}

/** The same for many paths at once. */
export async function findAllVisited(
  tenant: Tenant,
  paths: readonly string[],
): Promise<ReadonlyMap<string, VisitedAt>> {
  const shorter = paths.filter((path) => path.endsWith("/")).map(dropSlash);
  const links = await findLinksAt(tenant, [...paths, ...shorter]);
  const found = new Map<string, VisitedAt>();
  const short: Promise<void>[] = [];
  const noteShort = async (path: string, at: string, link: Link) => {
    found.set(path, { link, query: await findQueryOf(tenant, { linkId: link.id, path: at }) });
  };
  for (const path of paths) {
    const at = links.has(path) || !path.endsWith("/") ? path : dropSlash(path);
    const link = links.get(at);
    if (link === undefined) continue;
    if (at === link.path || at === link.shortened_path) found.set(path, { link, query: "" });
    else short.push(noteShort(path, at, link));
  }
  await Promise.all(short);
  return found;
}

function dropSlash(path: string): string {
  return path.slice(0, -1);
}
