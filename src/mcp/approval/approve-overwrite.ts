import { unapprovedOverwrites } from "../../contract/limits.ts";
import type { State } from "../../state/state.ts";
import { isRefused } from "../results/tool-failure.ts";
import type { ApprovalRequest, Fact } from "./question.ts";
import type { Mode } from "../../contract/rights.ts";

/**
 * Allows a key a few overwrites without approval, then requires approval. Otherwise, many single
 * calls could bypass the approval of a bulk plan. See docs/approval.md.
 */
export type ApproveOverwrite = <Result>(
  keyPrint: string,
  overwrite: {
    readonly describe: () => Promise<ApprovalRequest>;
    readonly requireApproved: (request: ApprovalRequest) => Promise<void>;
    readonly carryOut: () => Promise<Result>;
  },
) => Promise<Result>;

type OverwriteOptions = { readonly mode: Mode; readonly openState: () => Promise<State> };

export function createApproveOverwrite({ mode, openState }: OverwriteOptions): ApproveOverwrite {
  return async (keyPrint, { describe, requireApproved, carryOut }) => {
    if (mode === "full") return carryOut();
    const { counters, kept } = await openState();
    const grant = await kept.find("overwrite_grant", keyPrint);
    const taken = await counters.take(
      grant === undefined
        ? { overwrite: keyPrint }
        : { approved_overwrite: `${keyPrint} ${grant.saved_at}` },
    );
    if (taken === undefined) {
      const { question, ...request } = await describe();
      const facts = [alsoAllowed, ...question.facts];
      await requireApproved({ ...request, question: { ...question, facts } });
    }
    // A call that the server rejects overwrites nothing, so it does not count toward the limit.
    let isDone = true;
    try {
      return await carryOut();
    } catch (error) {
      isDone = !isRefused(error);
      throw error;
    } finally {
      if (taken !== undefined && !isDone) await taken.giveBack();
      if (taken === undefined && isDone) await kept.save("overwrite_grant", keyPrint, true);
    }
  };
}

const { most, granted, window_ms } = unapprovedOverwrites;
const minutes = window_ms / 60_000;
const alsoAllowed: Fact = {
  name: "also allows",
  text: `up to ${granted} more overwrites within ${minutes} minutes`,
  warnings: [
    `this key has made ${most} overwrites in ${minutes} minutes without approval; ` +
      "your approval allows more",
  ],
};
