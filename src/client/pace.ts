import { budgets, type BudgetName } from "../contract/policy.ts";
import type { Clock } from "../contract/world.ts";

/** Holds calls back so that a key never earns a 429 by its own haste. */
export type Pacer = {
  /** Takes the next place in a budget. Whoever takes one leaves it again. */
  readonly queue: (budget: BudgetName) => Place;
  /** Somebody else spends the same budget: for a while half of it is theirs. */
  readonly yieldHalf: (budget: BudgetName) => void;
};

type Place = {
  /** How long the call must still wait: those before it may have taken longer than they seemed. */
  readonly look: () => number;
  /** A place counts from its answer on, as the deployment counted it some time before. */
  readonly leave: (isSpent: boolean) => void;
};

/** The deployment's clock may be a little slower than ours. */
const margin_ms = 1000;

type Queue = {
  /** When each place is taken, in the order in which they were asked for. */
  places: { at: number }[];
  halvedUntil: number;
};

/**
 * No more than the limit in any window at all, so that it does not matter when the deployment
 * thinks that its window began.
 */
export function createPacer({ monotonic }: Pick<Clock, "monotonic">): Pacer {
  const queues = new Map<BudgetName, Queue>();

  function findQueue(budget: BudgetName): Queue {
    const queue = queues.get(budget) ?? { places: [], halvedUntil: -Infinity };
    queues.set(budget, queue);
    return queue;
  }

  return {
    queue: (budget) => {
      const span_ms = budgets[budget].window_ms + margin_ms;
      const queue = findQueue(budget);
      const place = { at: Infinity };
      queue.places = queue.places.filter(({ at }) => at > monotonic() - span_ms);
      queue.places.push(place);
      return {
        look: () => {
          const now = monotonic();
          const limit = budgets[budget].limit / (now < queue.halvedUntil ? 2 : 1);
          const earlier = queue.places
            .slice(0, queue.places.indexOf(place))
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
    yieldHalf: (budget) => {
      findQueue(budget).halvedUntil = monotonic() + budgets[budget].window_ms;
    },
  };
}
