import { messages } from "../../contract/messages.ts";
import { links } from "../../contract/links.ts";
import { findProFields } from "../../contract/rules/link-rules.ts";
import type { PlanRow } from "../../state/plans.ts";
import type { ServerAccess, Owner } from "../owner.ts";
import { readIfAllowed } from "../select/project-apps.ts";

/** Finds rows that the project's pricing plan would reject, before anyone approves them. */

type PricedRow = Pick<PlanRow, "action" | "link_id" | "fields">;

type PricingFault = {
  /** True if the row uses a paid feature; false if the project has reached its link limit. */
  readonly isOfRow: boolean;
  readonly message: string;
};

/**
 * Creates a check that counts links, so it must receive the rows in order. A remote server's
 * pricing plan is unknown, so every row passes.
 */
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

/** A link restored from the bin keeps its paid features. */
function listProFields({ action, link_id, fields }: PricedRow): readonly string[] {
  if (action !== "update" && (action !== "create" || link_id !== null)) return [];
  return findProFields(fields ?? {}, action);
}
