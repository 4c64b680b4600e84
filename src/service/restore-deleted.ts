import type { Link } from "../contract/links.ts";
import { takenFault, validationFailed } from "../contract/problem.ts";
import type { AppStore } from "../store/apps.ts";
import { findInBin, type Restored } from "../store/bin.ts";
import type { ProjectSettings } from "../store/projects.ts";
import { restoreLink, type DeletedLink } from "../store/links.ts";
import type { Tenant } from "../store/tables.ts";
import { requireFreeLink } from "./write-link.ts";

/**
 * Restores deleted links and apps, for the API and the operator, within a transaction. Returns
 * undefined if the bin does not contain the resource. Destinations are not checked, because a
 * restored link only works as before. The undo of an assistant checks them before it asks a person.
 */

type ProjectLimits = Pick<ProjectSettings, "plan" | "max_links">;

export async function restoreDeletedLink(
  tenant: Tenant,
  project: ProjectLimits,
  id: string,
  now: number,
): Promise<Link | undefined> {
  const deleted: DeletedLink | undefined = await findInBin(tenant, "link", id, now);
  if (deleted === undefined) return undefined;
  await requireFreeLink(tenant, project);
  return requireRestored(await restoreLink(tenant, deleted, now));
}

export async function restoreDeletedApp<App>(
  tenant: Tenant,
  apps: Pick<AppStore<App, unknown>, "restore">,
  id: string,
  now: number,
) {
  const restored = await apps.restore(tenant, id, now);
  return restored && requireRestored(restored);
}

function requireRestored<Resource>(restored: Restored<Resource>): Resource {
  if ("restored" in restored) return restored.restored;
  throw validationFailed(restored.taken.map(takenFault));
}
