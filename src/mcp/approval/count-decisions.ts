import { ToolFailure } from "../results/tool-failure.ts";
import type { Mode } from "./mode.ts";
import type { RequireApproval } from "./require-approval.ts";

export type Decisions = Readonly<Record<"given" | "refused", number>>;

/** The same, and how often a person let something through, or said no to it. */
export function countDecisions(
  requireApproval: RequireApproval,
  mode: Mode,
): { readonly requireApproval: RequireApproval; readonly measure: () => Decisions } {
  const decisions = { given: 0, refused: 0 };
  return {
    requireApproval: async (...asked) => {
      try {
        await requireApproval(...asked);
        // There nobody is asked.
        if (mode !== "full") decisions.given += 1;
      } catch (error) {
        const isNo = error instanceof ToolFailure && error.failure.code === "approval_declined";
        if (isNo) decisions.refused += 1;
        throw error;
      }
    },
    measure: () => ({ ...decisions }),
  };
}
