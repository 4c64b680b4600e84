import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import type { Outage } from "../../contract/problem.ts";
import { readOutage } from "../../state/state.ts";
import { describeFault, refuseForNow } from "../results/tool-failure.ts";

/** Wraps what answers a client, so that nothing of an unexpected error reaches it. */
export type HideErrors = <Args extends readonly unknown[], Result>(
  answer: (...args: Args) => Result | Promise<Result>,
) => (...args: Args) => Promise<Result>;

/** `report` notes an error where the operator looks, and answers its reference. */
export function createErrorHider(report: (error: unknown) => string): HideErrors {
  return (answer) =>
    async (...args) => {
      try {
        return await answer(...args);
      } catch (error) {
        // These were written for the client.
        if (error instanceof ProtocolError) throw error;
        const outage = readOutage(error);
        if (outage !== undefined) throw explainOutage(outage);
        throw new ProtocolError(ProtocolErrorCode.InternalError, describeFault(report(error)));
      }
    };
}

/** As a tool that was called tells it. */
function explainOutage(outage: Outage): ProtocolError {
  const { failure: error } = refuseForNow("it", outage);
  return new ProtocolError(ProtocolErrorCode.InternalError, error.message, { error });
}

export function refuseParams(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}
