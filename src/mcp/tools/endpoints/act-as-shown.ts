import type { Endpoint } from "../../../contract/endpoint.ts";
import { digestOf } from "../../../text/digest.ts";
import type { ApprovalRequest, Question } from "../../approval/question.ts";
import { explainEnd, isChanged, refuseChanged } from "../../results/tool-failure.ts";
import type { ToolCall } from "../tool.ts";

/** What a writing tool is about to do, which a person may have to approve. */
export type PreparedAct<Result> = Omit<ApprovalRequest, "question"> & {
  /** The requests to come. Their rate limits are checked before a person is asked. */
  readonly endpoints: readonly Endpoint[];
  /** When a person is asked: always, only after the key has made many overwrites, or never. */
  readonly asks: "always" | "after_many" | "never";
  /** Writes the question. Throws if the API would reject the request afterwards. */
  readonly describe: () => Promise<Question>;
  readonly carryOut: () => Promise<Result>;
};

type ApprovalCall = Pick<ToolCall, "approve" | "approveOverwrite" | "keyContext">;

/** The most attempts on a target that keeps changing while a person approves the act. */
const mostTries = 4;

/** Prepares an act, has it approved, and carries it out on what was shown. */
export async function actAsShown<Result>(
  prepare: () => Promise<PreparedAct<Result>>,
  call: ApprovalCall,
): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await actOnce(prepare, call);
    } catch (error) {
      // The target has changed since it was shown, so the call starts again with the new state.
      if (!isChanged(error) || tries === mostTries) throw error;
    }
  }
}

async function actOnce<Result>(
  prepare: () => Promise<PreparedAct<Result>>,
  { approve, approveOverwrite, keyContext }: ApprovalCall,
): Promise<Result> {
  const { asks, describe, carryOut, endpoints, ...prepared } = await prepare();
  const { tool, state } = prepared;
  if (asks === "never") return carryOut();
  const request = async () => {
    const question = await describe();
    for (const endpoint of new Set(endpoints)) {
      await keyContext.requireBudget(endpoint).catch((error: unknown) => {
        throw explainEnd({ tool, endpoint }, error);
      });
    }
    return { ...prepared, question };
  };
  if (asks === "after_many") return approveOverwrite(request, carryOut);
  await approve(await request());
  // For a server without conditions, the target is read again just before the request. A later
  // change is not noticed.
  const isStale =
    !keyContext.checksConditions && digestOf((await prepare()).state) !== digestOf(state);
  if (isStale) throw refuseChanged(tool);
  return carryOut();
}
