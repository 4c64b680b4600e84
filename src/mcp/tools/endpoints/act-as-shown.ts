import type { Endpoint } from "../../../contract/endpoint.ts";
import { digestOf } from "../../../text/digest.ts";
import type { ApprovalRequest, Question } from "../../approval/question.ts";
import { uncounted, type ApprovedOverwrite } from "../../approval/approve-overwrite.ts";
import { explainEnd, isChanged, isRefused, refuseChanged } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";

/** What a call of a tool that writes is about to do, which a person may have to approve. */
export type PreparedAct<Result> = Omit<ApprovalRequest, "question"> & {
  /** Each needs a place in its budget before a person is asked. */
  readonly endpoints: readonly Endpoint[];
  /** Whether a person is asked: each time, only of a key that has overwritten much, or never. */
  readonly asks: "always" | "after_many" | "never";
  /** What the person is shown. Throws what the API would refuse afterwards. */
  readonly describe: () => Promise<Question>;
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
      // A server that checks no conditions is read once more right before the act. A change between
      // this read and the act goes unnoticed there.
      if (act.asks === "always" && !call.keyContext.checksConditions) {
        const { state } = await prepare();
        if (digestOf(state) !== digestOf(act.state)) throw refuseChanged(act.tool);
      }
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

async function requireApproval(
  { asks, describe, endpoints, tool, args, target, state }: PreparedAct<unknown>,
  { approve, approveOverwrite, keyContext }: ActCall,
): Promise<ApprovedOverwrite> {
  if (asks === "never") return uncounted;
  const request = async () => {
    const question = await describe();
    for (const endpoint of new Set(endpoints)) {
      await keyContext.requireBudget(endpoint).catch((error: unknown) => {
        throw explainEnd({ tool, endpoint }, error);
      });
    }
    return { tool, args, target, state, question };
  };
  if (asks === "after_many") return approveOverwrite(request);
  await approve(await request());
  return uncounted;
}
