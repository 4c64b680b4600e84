import { setTimeout } from "node:timers/promises";
import { isBusy, StoreBusy } from "./faults.ts";
import type { WriteSignal } from "./sql.ts";

/**
 * Between processes SQLite has one lock and no queue, so a writer that finds it taken waits a
 * random moment outside the driver (storage.md §0).
 */

/** How time is measured and waited for; only a test has another one. */
export type Time = {
  readonly monotonic: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
};

export const realTime: Time = {
  monotonic: () => performance.now(),
  sleep: (milliseconds) => setTimeout(milliseconds),
};

export const longestPause_ms = 2;
const longestWait_ms = 5_000;

/** Tries until the lock is free, the caller has gone, or it has taken too long. */
export async function retryWhileBusy<Result>(
  attempt: () => Result | Promise<Result>,
  {
    signal,
    time = realTime,
  }: { readonly signal?: WriteSignal | undefined; readonly time?: Time } = {},
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
