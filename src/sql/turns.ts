import { setImmediate, setTimeout } from "node:timers/promises";
import { StoreBusy } from "./faults.ts";
import type { Waiter } from "./sql.ts";

/**
 * Who may write next. Within the process writers take turns in the order they came. Between
 * processes SQLite has one lock and no queue, so whoever finds it taken waits a random moment
 * outside the driver, and whoever has just used it leaves others an opening (storage.md §0).
 */
export type Turns = {
  /** Runs `work` when no other writer of this process is at it. */
  readonly take: <Result>(work: () => Promise<Result>, signal?: Waiter) => Promise<Result>;
};

const patience_ms = 5_000;
const longestRun_ms = 8;
const opening_ms = 2;

export function createTurns(): Turns {
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;
  let runStarted = performance.now();

  function take<Result>(work: () => Promise<Result>, signal?: Waiter): Promise<Result> {
    if (waiting === 0) runStarted = performance.now();
    waiting += 1;
    const result = last.then(() => {
      throwIfGone(signal);
      return work();
    });
    last = result.then(endTurn, endTurn);
    return result;
  }

  async function endTurn(): Promise<void> {
    waiting -= 1;
    if (waiting > 0) await leaveAnOpening();
  }

  /** Lets the event loop breathe between two writes, and other processes after a long run. */
  async function leaveAnOpening(): Promise<void> {
    if (performance.now() - runStarted < longestRun_ms) return setImmediate();
    await setTimeout(1 + Math.random() * opening_ms);
    runStarted = performance.now();
  }

  return { take };
}

/** Tries until the lock is free, the caller has gone, or patience ends. */
export async function retryWhileBusy<Result>(
  attempt: () => Result,
  isBusy: (error: unknown) => boolean,
  signal?: Waiter,
): Promise<Result> {
  const started = performance.now();
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (performance.now() - started > patience_ms) {
        throw new StoreBusy("the store is busy", { cause: error });
      }
    }
    await setTimeout(Math.random() * opening_ms);
    throwIfGone(signal);
  }
}

function throwIfGone(signal: Waiter | undefined): void {
  if (signal?.aborted === true) throw new StoreBusy("the caller stopped waiting");
}
