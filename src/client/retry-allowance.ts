/** So many repeats may be left at most, and as many are left at first. */
const mostRepeats = 100;
/** security-reliability.md §2.2: in the long run one repeat for ten calls. */
const earnedPerCall = 0.1;

/** Keeps a client from making an outage worse: when nearly every call fails, few are repeated. */
export type RetryAllowance = { repeatsLeft: number };

export function createRetryAllowance(): RetryAllowance {
  return { repeatsLeft: mostRepeats };
}

/** Each call earns a part of a repeat. */
export function earnRepeat(allowance: RetryAllowance): void {
  allowance.repeatsLeft = Math.min(mostRepeats, allowance.repeatsLeft + earnedPerCall);
}
