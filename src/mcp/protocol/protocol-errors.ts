import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { readOutage } from "../../state/state.ts";
import {
  describeFault,
  explainOutage,
  refuseForNow,
  type Failure,
} from "../results/tool-failure.ts";

/** Converts errors of request handlers to protocol errors. */

/** Wraps a request handler to hide the details of unexpected errors from clients. */
export type HideErrors = <Args extends readonly unknown[], Result>(
  answer: (...args: Args) => Result | Promise<Result>,
) => (...args: Args) => Promise<Result>;

/** `report` logs an error and returns its reference. */
export function createErrorHider(report: (error: unknown) => string): HideErrors {
  return (answer) =>
    async (...args) => {
      try {
        return await answer(...args);
      } catch (error) {
        // Protocol errors are meant for the client, so they are not hidden.
        if (error instanceof ProtocolError) throw error;
        const outage = readOutage(error);
        if (outage !== undefined) throw wrapFailure(refuseForNow("it", outage).failure);
        throw new ProtocolError(ProtocolErrorCode.InternalError, describeFault(report(error)));
      }
    };
}

/**
 * Explains a database outage during a request that may have taken effect but is safe to repeat.
 * Returns other errors unchanged.
 */
export function explainActed(method: string, error: unknown): unknown {
  const acted = { hasBegun: true, endpoint: undefined };
  const repeated = { name: method, annotations: { idempotentHint: true } };
  const failure = explainOutage(error, repeated, acted);
  return failure === undefined ? error : wrapFailure(failure);
}

function wrapFailure(error: Failure): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InternalError, error.message, { error });
}

export function refuseParams(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}
