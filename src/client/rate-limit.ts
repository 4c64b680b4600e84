import type { Awaitable } from "../contract/waiting.ts";
import { budgets, readSpan, type BudgetName } from "../contract/limits.ts";
import type { Clock } from "../contract/clock.ts";

/** Delays calls to stay within the key's rate limits, which other processes may share. */
export type BudgetLedger = {
  /** Reserves the next call within a rate limit. The caller must call `leave` afterwards. */
  readonly queue: (budget: BudgetName) => {
    /**
     * How long the call must still wait. Check again after waiting, because earlier calls may be
     * slow.
     */
    readonly readWait_ms: () => Awaitable<number>;
    /** Releases the reservation. A sent call counts from the time of its response. */
    readonly leave: (isSpent: boolean) => Awaitable<void>;
  };
};

/**
 * Limits the calls in every sliding window, because it is unknown when the server's window starts.
 */
export function createBudgetLedger({ monotonic }: Pick<Clock, "monotonic">): BudgetLedger {
  /** The times of the reserved calls, in order of reservation. */
  const queues = new Map<BudgetName, { at: number }[]>();
  return {
    queue: (budget) => {
      const span_ms = readSpan(budget);
      const place = { at: Infinity };
      const recent = (queues.get(budget) ?? []).filter(({ at }) => at > monotonic() - span_ms);
      queues.set(budget, [...recent, place]);
      return {
        readWait_ms: () => {
          const now = monotonic();
          const places = queues.get(budget) ?? [];
          const earlier = places.slice(0, places.indexOf(place)).map(({ at }) => at);
          const freeing = earlier.toSorted((one, other) => other - one)[budgets[budget].limit - 1];
          place.at = freeing === undefined ? now : Math.max(now, freeing + span_ms);
          return place.at - now;
        },
        leave: (isSpent) => {
          place.at = isSpent ? monotonic() : -Infinity;
        },
      };
    },
  };
}
