import { setTimeout } from "node:timers/promises";
import { isBusy, StoreBusy } from "./faults.ts";
import type { WriteSignal } from "./sql.ts";

/**
 * Retries while another process holds SQLite's write lock. SQLite has no queue for this lock, and
 * the driver must not block the thread. So writers wait here, each for a random time.
 */

/** The clock, which tests can replace. */
export type WaitingClock = {
  readonly monotonic: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
};

export const realTime: WaitingClock = {
  monotonic: () => performance.now(),
  sleep: (milliseconds) => setTimeout(milliseconds),
};

export const longestPause_ms = 2;
const longestWait_ms = 5_000;

/**
 * Repeats the attempt until the lock is free, the caller has left, or the time limit is reached.
 */
export async function retryWhileBusy<Result>(
  attempt: () => Result | Promise<Result>,
  {
    signal,
    time = realTime,
  }: { readonly signal?: WriteSignal | undefined; readonly time?: WaitingClock } = {},
): Promise<Result> {
  const started = time.monotonic();
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (time.monotonic() - started > longestWait_ms) {
        throw new StoreBusy("the store is busy", { cause: error });
      }
    }
    await time.sleep(Math.random() * longestPause_ms);
    requireWaiting(signal);
  }
}

export function requireWaiting(signal: WriteSignal | undefined): void {
  if (signal?.hasLeft() === true) throw new StoreBusy("the caller stopped waiting");
}
