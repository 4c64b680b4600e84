import type { Awaitable } from "../contract/waiting.ts";
import { budgets, readSpan, type BudgetName } from "../contract/limits.ts";
import type { Clock } from "../contract/clock.ts";

/**
 * Delays calls so that a key gets no 429 for calling too often. It counts the calls of this
 * process, or of all processes that use the key.
 */
export type BudgetLedger = {
  /** Takes the next place within a rate limit. The caller must give it back with `leave`. */
  readonly queue: (budget: BudgetName) => {
    /**
     * How long the call must still wait. Ask again after waiting, because earlier calls may take
     * longer than expected.
     */
    readonly readWait_ms: () => Awaitable<number>;
    /** A used place counts from its response on, which is later than the server counted it. */
    readonly leave: (isSpent: boolean) => Awaitable<void>;
  };
};

/**
 * Allows no more calls than the limit in any window, so the start of the server's window does not
 * matter.
 */
export function createBudgetLedger({ monotonic }: Pick<Clock, "monotonic">): BudgetLedger {
  /** The times of the places, in the order of the requests for them. */
  const queues = new Map<BudgetName, { at: number }[]>();
  return {
    queue: (budget) => {
      const span_ms = readSpan(budget);
      const place = { at: Infinity };
      const known = (queues.get(budget) ?? []).filter(({ at }) => at > monotonic() - span_ms);
      queues.set(budget, [...known, place]);
      return {
        readWait_ms: () => {
          const now = monotonic();
          const places = queues.get(budget) ?? [];
          const earlier = places
            .slice(0, places.indexOf(place))
            .map(({ at }) => at)
            .filter((at) => at > now - span_ms)
            .toSorted((one, other) => one - other);
          const freeing = earlier[earlier.length - budgets[budget].limit];
          place.at = freeing === undefined ? now : freeing + span_ms;
          return place.at - now;
        },
        leave: (isSpent) => {
          place.at = isSpent ? monotonic() : -Infinity;
        },
      };
    },
  };
}
