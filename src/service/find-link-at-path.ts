import type { Link } from "../contract/links.ts";
import { findPathFault } from "../contract/rules/link-path.ts";
import { findLinkAt } from "../store/links.ts";
import type { Tenant } from "../store/tenant.ts";

/** The link at a path that a caller wrote; a text that can be no path names none. */
export async function findLinkAtPath(
  tenant: Tenant,
  path: string | undefined,
): Promise<Link | undefined> {
  const isValid = path !== undefined && findPathFault(path) === undefined;
  return isValid ? findLinkAt(tenant, path) : undefined;
}
