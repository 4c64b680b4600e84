import { messages } from "../../contract/messages.ts";
import { links } from "../../contract/links.ts";
import { findProFields } from "../../contract/rules/link-rules.ts";
import type { PlanRow } from "../../state/plans.ts";
import type { ServerAccess, Owner } from "../owner.ts";
import { readIfAllowed } from "../select/project-apps.ts";

/** What the project's pricing plan refuses of many rows, known before anyone approves them. */

type PricedRow = Pick<PlanRow, "action" | "link_id" | "fields">;

type PricingFault = {
  /** Whether the row asks for too much; otherwise the project has no room for its link. */
  readonly isOfRow: boolean;
  readonly message: string;
};

/** The function expects a plan's rows in their order. Nothing is known of a remote server's key. */
export function createPricingCheck(
  { known }: Pick<Owner, "known">,
  { call, signal }: ServerAccess,
): (row: PricedRow) => Promise<PricingFault | undefined> {
  const { facts, linkLimit } = known ?? {};
  let count: number | undefined;

  async function findLimitFault({ action }: PricedRow): Promise<PricingFault | undefined> {
    const step = steps[action] ?? 0;
    if (linkLimit === undefined || step === 0) return undefined;
    count ??= await readCount();
    if (step > 0 && count >= linkLimit) {
      return { isOfRow: false, message: messages.link_limit(linkLimit) };
    }
    count += step;
    return undefined;
  }

  async function readCount(): Promise<number> {
    const page = await readIfAllowed(() => call(links.index, { limit: 1 }, signal));
    return page?.meta.count ?? 0;
  }

  return async (row) => {
    if (facts === undefined) return undefined;
    const asked = facts.plan === "pro" ? [] : listProFields(row);
    if (asked.length > 0) return { isOfRow: true, message: messages.pro_fields(asked.join(", ")) };
    return findLimitFault(row);
  };
}

const steps: Readonly<Partial<Record<PlanRow["action"], number>>> = { create: 1, delete: -1 };

/** A deleted link comes back from the bin with all that it had. */
function listProFields({ action, link_id, fields }: PricedRow): readonly string[] {
  if (action !== "update" && (action !== "create" || link_id !== null)) return [];
  return findProFields(fields ?? {}, action);
}
