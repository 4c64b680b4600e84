import { findPathFault } from "../contract/link-path.ts";
import { findLinkAt } from "../store/links.ts";
import { readTenant, type WriteCall } from "./handler.ts";

/** Before a write answers with a link that is only named by its address: its visits so far. */
export async function settleClicksAt(
  call: Omit<WriteCall, "signal">,
  address: string | undefined,
): Promise<void> {
  const { settleClicks } = call.services;
  const isSound = address !== undefined && findPathFault(address) === undefined;
  if (settleClicks === undefined || !isSound) return;
  const tenant = readTenant(call);
  const link = await findLinkAt(tenant, address);
  if (link !== undefined) await settleClicks(tenant.projectId, link.id);
}
