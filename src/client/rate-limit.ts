import { budgets, readSpan, type BudgetName } from "../contract/budgets.ts";
import type { Clock } from "../contract/clock.ts";

/** Holds calls back, so that a key gets no 429 for calling too often. */
export type RateLimiter = {
  /** Takes the next place in a budget, which the caller must leave again. */
  readonly queue: (budget: BudgetName) => Place;
  /** After a 429 another client spends the same budget: for a while this one uses half of it. */
  readonly yieldHalf: (budget: BudgetName) => void;
};

type Place = {
  /** How long the call must still wait: those before it may have taken longer than they seemed. */
  readonly readWait_ms: () => Awaitable<number>;
  /** A place counts from its answer on, as the server counted it some time before. */
  readonly leave: (isSpent: boolean) => Awaitable<void>;
};

/** Which places are taken: by this process alone, or by all processes that use the key. */
export type BudgetLedger = {
  readonly queue: (budget: BudgetName) => {
    readonly readWait_ms: (limit: number) => Awaitable<number>;
    readonly leave: Place["leave"];
  };
};

type Awaitable<Value> = Value | Promise<Value>;

export function createRateLimiter(
  { monotonic }: Pick<Clock, "monotonic">,
  ledger: BudgetLedger,
): RateLimiter {
  const halvedUntil = new Map<BudgetName, number>();
  return {
    queue: (budget) => {
      const { readWait_ms, leave } = ledger.queue(budget);
      const isHalved = () => monotonic() < (halvedUntil.get(budget) ?? -Infinity);
      const readLimit = () => budgets[budget].limit / (isHalved() ? 2 : 1);
      return { readWait_ms: () => readWait_ms(readLimit()), leave };
    },
    yieldHalf: (budget) => {
      halvedUntil.set(budget, monotonic() + budgets[budget].window_ms);
    },
  };
}

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
        readWait_ms: (limit) => {
          const now = monotonic();
          const places = queues.get(budget) ?? [];
          const earlier = places
            .slice(0, places.indexOf(place))
            .map(({ at }) => at)
            .filter((at) => at > now - span_ms)
            .toSorted((one, other) => one - other);
          const freeing = earlier[earlier.length - limit];
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
