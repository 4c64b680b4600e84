import { unaskedOverwrites } from "../../contract/approval-rules.ts";
import type { State } from "../../state/state.ts";
import type { ApprovalRequest, Fact } from "./question.ts";
import type { Mode } from "./mode.ts";

/**
 * Lets the first overwrites of a key through, and then asks: what a plan would be asked for is not
 * done unasked by many single calls (design.md, "Approval").
 */
export type ApproveOverwrite = (
  keyPrint: string,
  describe: () => Promise<ApprovalRequest>,
  approve: (request: ApprovalRequest) => Promise<void>,
) => Promise<ApprovedOverwrite>;

/** How it ended: what was refused was no overwrite, and a yes for it lets no others through. */
export type ApprovedOverwrite = { readonly end: (isDone: boolean) => Promise<void> };

type Options = { readonly mode: Mode; readonly openState: () => Promise<State> };

export function createApproveOverwrite({ mode, openState }: Options): ApproveOverwrite {
  return async (keyPrint, describe, approve) => {
    if (mode === "full") return uncounted;
    const { counters, kept } = await openState();
    const grant = await kept.find("overwrite_grant", keyPrint);
    const taken = await counters.take(
      grant === undefined
        ? { overwrite: keyPrint }
        : { approved_overwrite: `${keyPrint} ${grant.saved_at}` },
    );
    if (taken !== undefined) {
      return { end: async (isDone) => (isDone ? undefined : taken.giveBack()) };
    }
    const { question, ...request } = await describe();
    const facts = [alsoAllowed, ...question.facts];
    await approve({ ...request, question: { ...question, facts } });
    return {
      end: async (isDone) => (isDone ? kept.save("overwrite_grant", keyPrint, true) : undefined),
    };
  };
}

export const uncounted: ApprovedOverwrite = { end: () => Promise.resolve() };

const { most, granted, window_ms } = unaskedOverwrites;
const minutes = window_ms / 60_000;
const alsoAllowed: Fact = {
  name: "also allows",
  text: `up to ${granted} more overwrites within ${minutes} minutes`,
  warnings: [
    `this key has made ${most} overwrites in ${minutes} minutes without approval; ` +
      "your approval allows more",
  ],
};
