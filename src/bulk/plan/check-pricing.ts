import type { ServerAccess } from "../../client/client.ts";
import { messages } from "../../contract/messages.ts";
import { links } from "../../contract/links.ts";
import { findProFields } from "../../contract/rules/link-rules.ts";
import type { PlanRow } from "../../state/plans.ts";
import type { Owner } from "../owner.ts";
import { readIfAllowed } from "../../lists/project-apps.ts";

/** Finds rows that the project's pricing plan does not allow, before a user approves them. */

type PricedRow = Pick<PlanRow, "action" | "link_id" | "fields">;

/**
 * Returns a function that checks a row against the pricing plan. Call it in the order of the rows,
 * because it counts links. If it rejects a row, `isOfRow` is true for a paid feature in this row,
 * and false for a project that has reached its link limit. The pricing plan of a remote server is
 * unknown, so all its rows pass.
 */
export function createPricingCheck({ known, call, signal }: ServerAccess & Pick<Owner, "known">) {
  const { facts, linkLimit } = known ?? {};
  let count: number | undefined;

  return async (row: PricedRow) => {
    if (facts === undefined) return undefined;
    const asked = facts.plan === "pro" ? [] : listProFields(row);
    if (asked.length > 0) return { isOfRow: true, message: messages.pro_fields(asked.join(", ")) };
    const step = steps[row.action] ?? 0;
    if (linkLimit === undefined || step === 0) return undefined;
    count ??= (await readIfAllowed(() => call(links.index, { limit: 1 }, signal)))?.meta.count ?? 0;
    if (step > 0 && count >= linkLimit) {
      return { isOfRow: false, message: messages.link_limit(linkLimit) };
    }
    count += step;
    return undefined;
  };
}

const steps: Readonly<Partial<Record<PlanRow["action"], number>>> = { create: 1, delete: -1 };

/** A link that is restored from the bin may keep its paid features. */
function listProFields({ action, link_id, fields }: PricedRow): readonly string[] {
  if (action !== "update" && (action !== "create" || link_id !== null)) return [];
  return findProFields(fields ?? {}, action);
}
