import type { Awaitable } from "../contract/waiting.ts";
import { budgets, readSpan, type BudgetName } from "../contract/limits.ts";
import type { Clock } from "../contract/clock.ts";

/** Delays calls to stay within the key's rate limits, which other processes may share. */
export type BudgetLedger = {
  /** Reserves the next call within a rate limit. Call `leave` once the call has ended. */
  readonly queue: (budget: BudgetName) => {
    /**
     * Returns how long the call must still wait. Call it again after that time, because earlier
     * calls may have taken longer than expected.
     */
    readonly readWait_ms: () => Awaitable<number>;
    /** Ends the reservation. If the call was sent, it counts toward the limit from now on. */
    readonly leave: (isSpent: boolean) => Awaitable<void>;
  };
};

/**
 * Allows no more calls than the limit in any window of time, because it is unknown when the
 * server's window starts.
 */
export function createBudgetLedger({ monotonic }: Pick<Clock, "monotonic">): BudgetLedger {
  /** The times of reserved and recent calls, in the order of reservation. */
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
