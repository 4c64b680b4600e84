import type { Link } from "../contract/links.ts";
import { findLinkAt } from "./links.ts";
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
  const exact = await findAt(tenant, path);
  if (exact !== undefined || !path.endsWith("/")) return exact;
  return findAt(tenant, path.slice(0, -1));
}

async function findAt(tenant: Tenant, path: string): Promise<VisitedAt | undefined> {
  const link = await findLinkAt(tenant, path);
  if (link === undefined) return undefined;
  const isOwn = path === link.path || path === link.shortened_path;
  return { link, query: isOwn ? "" : await findQueryOf(tenant, { linkId: link.id, path }) };
}
