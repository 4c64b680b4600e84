import { findPathFault } from "../contract/rules/link-path.ts";
import { findLinkAt } from "../store/links.ts";
import { readTenant, type WriteCall } from "./handler.ts";

/** For an answer with the clicks of one link, or of every link of the project. */
export async function waitForClicks(
  { services, caller }: Omit<WriteCall, "signal">,
  linkId?: string,
): Promise<void> {
  await services.waitForClicks?.(caller.project.id, linkId);
}

/** For an answer with the clicks of a link that the call names by its address. */
export async function waitForClicksAt(
  call: Omit<WriteCall, "signal">,
  address: string | undefined,
): Promise<void> {
  const isValid = address !== undefined && findPathFault(address) === undefined;
  if (call.services.waitForClicks === undefined || !isValid) return;
  const link = await findLinkAt(readTenant(call), address);
  if (link !== undefined) await waitForClicks(call, link.id);
}
