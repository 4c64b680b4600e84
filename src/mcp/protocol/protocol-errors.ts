import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { readOutage } from "../../state/state.ts";
import {
  describeFault,
  explainOutage,
  refuseForNow,
  type Failure,
} from "../results/tool-failure.ts";

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
        if (outage !== undefined) throw wrapFailure(refuseForNow("it", outage).failure);
        throw new ProtocolError(ProtocolErrorCode.InternalError, describeFault(report(error)));
      }
    };
}

/**
 * Of a request that acts and may be repeated, once it has begun: an outage leaves unknown what came
 * of it. Any other error stays as it is.
 */
export function explainActed(method: string, error: unknown): unknown {
  const acted = { hasBegun: true, endpoint: undefined };
  const repeated = { name: method, annotations: { idempotentHint: true } };
  const failure = explainOutage(error, repeated, acted);
  return failure === undefined ? error : wrapFailure(failure);
}

/** As a tool that was called tells it. */
function wrapFailure(error: Failure): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InternalError, error.message, { error });
}

export function refuseParams(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}
