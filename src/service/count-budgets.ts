import type { Awaitable } from "../contract/awaitable.ts";
import { budgets, type BudgetName } from "../contract/budgets.ts";
import type { Clock } from "../contract/clock.ts";
import { openWindow, requireLeft, spendFrom, type Tell, type Window } from "./shared-windows.ts";

/** What each key has spent of each budget in its running window (api-spec.md, "Limits"). */
export type BudgetCounters = {
  /** Counts a request, or refuses it when the window is full. */
  readonly spend: (keyId: string, budget: BudgetName) => Awaitable<void>;
  /** Refuses where `spend` would, and counts nothing. */
  readonly requireLeft: (keyId: string, budget: BudgetName) => void;
};

/** Others are told of each twentieth of a budget. */
const steps = 20;

/** Windows that have ended stay until there are so many in all. */
const leastToPrune = 10_000;

/** A window begins with its first request and ends a minute later, on a clock that never jumps. */
export function createBudgetCounters(clock: Pick<Clock, "monotonic">, tell?: Tell): BudgetCounters {
  const windows = new Map<string, Window>();
  let pruneAt = leastToPrune;

  function prune(now: number): void {
    for (const [name, window] of windows) if (window.ends <= now) windows.delete(name);
    // Where most are still running, pruning for each new one would cost more than everything else.
    pruneAt = Math.max(leastToPrune, 2 * windows.size);
  }

  return {
    spend: (keyId, budget) => {
      const { limit, window_ms } = budgets[budget];
      const now = clock.monotonic();
      const name = `${keyId} ${budget}`;
      let window = windows.get(name);
      if (window === undefined || window.ends <= now) {
        if (windows.size >= pruneAt) prune(now);
        window = openWindow(name, { now, window_ms }, window);
        windows.set(name, window);
      }
      return spendFrom(window, { limit, step: limit / steps }, clock, tell);
    },
    requireLeft: (keyId, budget) => {
      const now = clock.monotonic();
      const window = windows.get(`${keyId} ${budget}`);
      if (window === undefined || window.ends <= now) return;
      requireLeft(window, budgets[budget].limit, now);
    },
  };
}
