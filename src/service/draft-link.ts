import { links, type Link, type LinkFields } from "../contract/links.ts";
import { findLinkAt } from "../store/links.ts";
import type { Tenant } from "../store/tables.ts";
import type { WriteCall } from "./handler.ts";
import { requireScope } from "./require-access.ts";
import { blankLink, requireFreeLink, settleLink } from "./write-link.ts";

/**
 * A link as it would be with these fields, or as the one that is there would become, by the rights
 * and rules of the call that would write it. No address is taken, no app made and nothing stored.
 */
export async function draftLink(
  tenant: Tenant,
  call: WriteCall,
  fields: LinkFields,
  before: Link | undefined,
) {
  const write = before === undefined ? "create" : "update";
  requireScope(call.caller, links[write].scope);
  if (before === undefined) await requireFreeLink(tenant, call.caller.project);
  const settled = await settleLink(tenant, call, fields, {
    write,
    before,
    claim: async (path) => (await findLinkAt(tenant, path)) === undefined,
    registers: false,
  });
  return { ...(before ?? blankLink), ...settled };
}
