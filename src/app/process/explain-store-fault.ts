import { messages } from "../../contract/messages.ts";
import { explainOutage, Problem } from "../../contract/problem.ts";
import { readOutage } from "../../sql/faults.ts";

/** Explains errors of the store to operators, and logs outages. */

/** Returns the error to report for an unresponsive store; undefined for any other error. */
export function explainStoreFault(error: unknown): Problem | undefined {
  // The embedded service reports an outage as a `Problem` already.
  if (error instanceof Problem && isOutage(error)) return error;
  const outage = readOutage(error);
  return outage && explainOutage(outage);
}

function isOutage({ status, message }: Problem): boolean {
  return status === 503 || message === messages.outcome_unknown;
}

export type Warn = (facts: object, message: string) => unknown;

/** Logs an unresponsive store as a warning, because outages are not bugs. Reports other errors. */
export function warnOfOutages(report: (error: unknown) => unknown, warn: Warn = () => undefined) {
  return (error: unknown): unknown => {
    if (explainStoreFault(error) === undefined) return report(error);
    const reason = error instanceof Error ? error.message : "";
    return warn({ reason }, "the database is not responding");
  };
}
