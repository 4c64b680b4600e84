import { createBudgetLedger, type BudgetLedger } from "../client/rate-limit.ts";
import { budgets, readSpan } from "../contract/budgets.ts";
import type { Clock } from "../contract/clock.ts";
import type { State } from "../state/state.ts";

type Sharing = {
  readonly openState: () => Promise<Pick<State, "counters">>;
  readonly report: (error: unknown) => string;
};

/**
 * The processes of this machine that show the key to a deployment elsewhere share its budgets. The
 * shared count goes by the time of day, which may jump, so each counts for itself besides; and
 * where the data folder cannot be written, calls go on by a process's own count.
 */
export function shareBudgets(
  clock: Pick<Clock, "monotonic">,
  keyPrint: string,
  { openState, report }: Sharing,
): BudgetLedger {
  const alone = createBudgetLedger(clock);
  return {
    queue: (budget) => {
      const own = alone.queue(budget);
      const line = { kind: budget, subject: keyPrint, window_ms: readSpan(budget) };
      const opening = openState().then(({ counters }) => counters.queue(line));
      return {
        readWait_ms: async () => {
          const shared = opening.then((place) => place.readWait_ms(budgets[budget].limit));
          return Math.max(await own.readWait_ms(), await shared.catch(ignore));
        },
        leave: async (isSpent) => {
          await own.leave(isSpent);
          await opening.then((place) => place.leave(isSpent)).catch(ignore);
        },
      };
    },
  };

  function ignore(error: unknown): number {
    report(error);
    return 0;
  }
}
