import { digestOf } from "../../../text/digest.ts";
import type { ApprovalRequest } from "../../approval/question.ts";
import { uncounted, type ApprovedOverwrite } from "../../approval/approve-overwrite.ts";
import { isChanged, isRefused, refuseChanged } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";

/** What a call of a tool that writes is about to do, which a person may have to approve. */
export type PreparedAct<Result> = {
  readonly tool: string;
  /** Whether a person is asked: each time, only of a key that has overwritten much, or never. */
  readonly asks: "always" | "after_many" | "never";
  /** What the person is shown. Throws what the API would refuse afterwards. */
  readonly describe: () => Promise<ApprovalRequest>;
  /** The state in that request, as it is now. */
  readonly readState: () => Promise<unknown>;
  readonly carryOut: () => Promise<Result>;
};

type ActCall = Pick<Call, "approve" | "approveOverwrite" | "keyContext">;

/** The most attempts on a target that keeps changing while a person approves the act. */
const mostTries = 4;

/** Prepares an act, has it approved, and carries it out on what was shown. */
export async function actAsShown<Result>(
  prepare: () => Promise<PreparedAct<Result>>,
  call: ActCall,
): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    const act = await prepare();
    let overwrite = uncounted;
    try {
      overwrite = await requireApproval(act, call);
      const result = await act.carryOut();
      await overwrite.end(true);
      return result;
    } catch (error) {
      await overwrite.end(!isRefused(error));
      // The target changed since it was shown. This would be another act, so it starts again.
      if (!isChanged(error) || tries === mostTries) throw error;
    }
  }
}

/**
 * A server that checks no conditions is read once more right before the act. A change between this
 * read and the act goes unnoticed there.
 */
async function requireApproval<Result>(
  { tool, asks, describe, readState }: PreparedAct<Result>,
  { approve, approveOverwrite, keyContext }: ActCall,
): Promise<ApprovedOverwrite> {
  if (asks === "never") return uncounted;
  if (asks === "after_many") return approveOverwrite(describe);
  const request = await describe();
  await approve(request);
  if (keyContext.checksConditions) return uncounted;
  if (digestOf(await readState()) !== digestOf(request.state)) throw refuseChanged(tool);
  return uncounted;
}
