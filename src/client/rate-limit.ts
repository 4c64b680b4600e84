import { budgets, readSpan, type BudgetName } from "../contract/budgets.ts";
import type { Clock } from "../contract/clock.ts";

/**
 * Delays calls so that a key gets no 429 for calling too often. It counts the places taken by this
 * process only, or by all processes that use the key.
 */
export type BudgetLedger = {
  /** Takes the next place in a budget, which the caller must leave again. */
  readonly queue: (budget: BudgetName) => {
    /** How long the call must still wait: those before it may have taken longer than expected. */
    readonly readWait_ms: () => Awaitable<number>;
    /** A place counts from its response on, because the server counted it some time before. */
    readonly leave: (isSpent: boolean) => Awaitable<void>;
  };
};

type Awaitable<Value> = Value | Promise<Value>;

/** No more than the limit in any window, so it does not matter when the server's window began. */
export function createBudgetLedger({ monotonic }: Pick<Clock, "monotonic">): BudgetLedger {
  /** When each place is taken, in the order in which they were asked for. */
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
