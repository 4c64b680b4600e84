import { findPathFault } from "../contract/rules/link-path.ts";
import { findLinkAt } from "../store/links.ts";
import { readTenant, type WriteCall } from "./handler.ts";

/** Before an answer has the visits of a link in it, or of any link: all of them so far. */
export async function waitForClicks(
  { services, caller }: Omit<WriteCall, "signal">,
  linkId?: string,
): Promise<void> {
  await services.waitForClicks?.(caller.project.id, linkId);
}

/** Before a write answers with a link that is only named by its address: its visits so far. */
export async function waitForClicksAt(
  call: Omit<WriteCall, "signal">,
  address: string | undefined,
): Promise<void> {
  const isSound = address !== undefined && findPathFault(address) === undefined;
  if (call.services.waitForClicks === undefined || !isSound) return;
  const link = await findLinkAt(readTenant(call), address);
  if (link !== undefined) await waitForClicks(call, link.id);
}
