import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { describeFault } from "../results/tool-failure.ts";

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
        throw new ProtocolError(ProtocolErrorCode.InternalError, describeFault(report(error)));
      }
    };
}

export function refuseParams(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}
