import { explainOutage, Problem } from "../contract/problem.ts";
import { readOutage } from "../sql/faults.ts";

/** What whoever waits is told while the store does not answer; undefined for any other error. */
export function explainStoreFault(error: unknown): Problem | undefined {
  // Whoever was asked before has said so already.
  if (error instanceof Problem && error.status === 503) return error;
  const outage = readOutage(error);
  return outage && explainOutage(outage);
}
