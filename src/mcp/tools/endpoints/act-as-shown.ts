import type { Endpoint } from "../../../contract/endpoint.ts";
import { digestOf } from "../../../text/digest.ts";
import type { ApprovalRequest, Question } from "../../approval/question.ts";
import { explainEnd, isChanged, refuseChanged } from "../../results/tool-failure.ts";
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
    try {
      return await actOnce(prepare, call);
    } catch (error) {
      // The target changed since it was shown. This would be another act, so it starts again.
      if (!isChanged(error) || tries === mostTries) throw error;
    }
  }
}

async function actOnce<Result>(
  prepare: () => Promise<PreparedAct<Result>>,
  { approve, approveOverwrite, keyContext }: ActCall,
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
  // A server that checks no conditions is read again right before the act. A change between this
  // read and the act is not noticed there.
  const isStale =
    !keyContext.checksConditions && digestOf((await prepare()).state) !== digestOf(state);
  if (isStale) throw refuseChanged(tool);
  return carryOut();
}
