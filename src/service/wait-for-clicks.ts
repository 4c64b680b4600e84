import type { Awaitable } from "../contract/awaitable.ts";
import type { Link } from "../contract/links.ts";
import { findLink } from "../store/links.ts";
import { findVisitedAtPath } from "./find-link-at-path.ts";
import { readTenant, type Services, type WriteCall } from "./handler.ts";

/** For an answer with the clicks of one link, or of every link of the project. */
export function waitForClicks(
  { services, caller }: Omit<WriteCall, "signal">,
  linkId?: string,
): Awaitable<void> {
  return services.waitForClicks?.(caller.project.id, linkId);
}

/** For an answer with the clicks of a link that the call names by its address. */
export async function waitForClicksAt(
  call: Omit<WriteCall, "signal">,
  address: string | undefined,
): Promise<void> {
  if (call.services.waitForClicks === undefined) return;
  const visited = await findVisitedAtPath(readTenant(call), address);
  if (visited !== undefined) await waitForClicks(call, visited.link.id);
}

/** A link that was read just now, again where it had clicks that were not written yet. */
export async function readWithClicks(
  { store, waitForClicks: wait }: Services,
  projectId: string,
  link: Link,
): Promise<Link | undefined> {
  const written = wait?.(projectId, link.id);
  if (written === undefined) return link;
  await written;
  return findLink({ db: store.db, projectId }, link.id);
}
