import type { Link } from "../contract/links.ts";
import { findPathFault } from "../contract/rules/link-path.ts";
import { findLinkAt, findVisited, type VisitedAt } from "../store/links.ts";
import type { Tenant } from "../store/tables.ts";

/** The link at a path that a caller wrote; a text that can be no path names none. */
export async function findLinkAtPath(
  tenant: Tenant,
  path: string | undefined,
): Promise<Link | undefined> {
  return isPath(path) ? findLinkAt(tenant, path) : undefined;
}

/** What a visitor of that path would find. */
export async function findVisitedAtPath(
  tenant: Tenant,
  path: string | undefined,
): Promise<VisitedAt | undefined> {
  return isPath(path) ? findVisited(tenant, path) : undefined;
}

function isPath(path: string | undefined): path is string {
  return path !== undefined && findPathFault(path) === undefined;
}
