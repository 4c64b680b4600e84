/** So many repeats may be in hand at most, and as many are there at first. */
const mostRepeats = 100;
/** security-reliability.md §2.2: in the long run one repeat for ten calls. */
const earnedPerCall = 0.1;

/** Keeps a client from making an outage worse: when nearly every call fails, few are repeated. */
export type RetryAllowance = {
  readonly earn: () => void;
  /** Whether a repeat is allowed; if so, it is spent. */
  readonly spend: () => boolean;
};

export function createRetryAllowance(): RetryAllowance {
  let repeats = mostRepeats;
  return {
    earn: () => {
      repeats = Math.min(mostRepeats, repeats + earnedPerCall);
    },
    spend: () => {
      if (repeats < 1) return false;
      repeats -= 1;
      return true;
    },
  };
}
