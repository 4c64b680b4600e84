import { budgets, type BudgetName } from "../contract/budgets.ts";
import type { Clock } from "../contract/clock.ts";
import { rateLimited } from "../contract/problem.ts";

/** What each key has spent of each budget in its running window (api-spec.md, "Limits"). */
export type BudgetCounters = {
  /** Counts a request, or refuses it when the window is full. */
  readonly spend: (keyId: string, budget: BudgetName) => void;
};

type Window = { readonly ends: number; spent: number };

/** Windows that have ended stay until there are so many in all. */
const leastToPrune = 10_000;

/** A window begins with its first request and ends a minute later, on a clock that never jumps. */
export function createBudgetCounters({ monotonic }: Pick<Clock, "monotonic">): BudgetCounters {
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
      const now = monotonic();
      const name = `${keyId} ${budget}`;
      const open = windows.get(name);
      if (open === undefined || open.ends <= now) {
        if (windows.size >= pruneAt) prune(now);
        windows.set(name, { ends: now + window_ms, spent: 1 });
        return;
      }
      if (open.spent >= limit) throw rateLimited();
      open.spent += 1;
    },
  };
}
