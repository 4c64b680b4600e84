import { findPathFault } from "../contract/rules/link-path.ts";
import { findLinkAt } from "../store/links.ts";
import { readTenant, type WriteCall } from "./handler.ts";

/** Before an answer has the visits of a link in it, or of any link: all of them so far. */
export async function settleClicks(
  { services, caller }: Omit<WriteCall, "signal">,
  linkId?: string,
): Promise<void> {
  await services.settleClicks?.(caller.project.id, linkId);
}

/** Before a write answers with a link that is only named by its address: its visits so far. */
export async function settleClicksAt(
  call: Omit<WriteCall, "signal">,
  address: string | undefined,
): Promise<void> {
  const isSound = address !== undefined && findPathFault(address) === undefined;
  if (call.services.settleClicks === undefined || !isSound) return;
  const link = await findLinkAt(readTenant(call), address);
  if (link !== undefined) await settleClicks(call, link.id);
}
