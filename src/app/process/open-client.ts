import { setTimeout } from "node:timers/promises";
import { createClient, type Client } from "../../client/client.ts";
import { createBudgetLedger, type BudgetLedger } from "../../client/rate-limit.ts";
import type { RequestSource } from "../../contract/api-message.ts";
import { budgets, readSpan } from "../../contract/limits.ts";
import type { Clock } from "../../contract/clock.ts";
import { printKey } from "../../mcp/access/key-context.ts";
import type { State } from "../../state/state.ts";
import type { Deployment } from "./deployment.ts";
import { clock, random, setAlarm } from "./embedded.ts";

/** Opens clients that call the API of the embedded service or of a remote server. */

type ClientParts = {
  readonly key: string | undefined;
  readonly via?: RequestSource | undefined;
  /** Ends calls that have no abort signal of their own. */
  readonly life: AbortSignal;
  readonly openState: () => Promise<State>;
  readonly report: (error: unknown) => string;
};

export function openClient({ origin, send, own }: Deployment, parts: ClientParts): Client {
  const { key, life, via } = parts;
  // The embedded service counts requests itself, so its clients need no shared count.
  const print = printKey(key);
  const ledger = own === undefined ? shareBudgets(clock, print, parts) : undefined;
  const target = { origin, key, isEmbedded: own !== undefined, via };
  return createClient({ target, send, clock, random, sleep, setAlarm, life, ledger });
}

/** Opens a client that never waits for retries or rate limits, because a user waits for it. */
export function openProbe({ origin, send, own }: Deployment, key: string | undefined): Client {
  const target = { origin, key, isEmbedded: own !== undefined };
  return createClient({ target, send, clock, random, setAlarm, sleep: () => Promise.resolve() });
}

export async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  await setTimeout(milliseconds, undefined, { signal });
}

type LedgerOptions = {
  readonly openState: () => Promise<Pick<State, "counters">>;
  readonly report: (error: unknown) => string;
};

/**
 * Shares a remote server's rate limits between processes on this machine that use the same key. The
 * shared count depends on the system clock, which may jump, so each process also keeps its own
 * count. If the data folder is not writable, only the process's own count applies.
 */
export function shareBudgets(
  clock: Pick<Clock, "monotonic">,
  keyPrint: string,
  { openState, report }: LedgerOptions,
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
