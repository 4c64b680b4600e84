import { setImmediate, setTimeout } from "node:timers/promises";
import { StoreBusy } from "./faults.ts";
import type { Waiter } from "./sql.ts";

/**
 * Who may write next. Within the process writers take turns in the order they came. Between
 * processes SQLite has one lock and no queue, so whoever finds it taken waits a random moment
 * outside the driver, and whoever has just used it leaves others an opening (storage.md §0).
 */
export type WriteQueue = {
  /** Runs `work` when no other writer of this process is at it. */
  readonly take: <Result>(work: () => Promise<Result>, signal?: Waiter) => Promise<Result>;
};

/** How long it is, and how one waits; only a test has another one. */
type Time = {
  readonly monotonic: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
};

const realTime: Time = {
  monotonic: () => performance.now(),
  sleep: (milliseconds) => setTimeout(milliseconds),
};

const patience_ms = 5_000;
const longestRun_ms = 8;
const opening_ms = 2;

export function createWriteQueue({ monotonic, sleep } = realTime): WriteQueue {
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;
  let runStarted = monotonic();

  function take<Result>(work: () => Promise<Result>, signal?: Waiter): Promise<Result> {
    if (waiting === 0) runStarted = monotonic();
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
    if (monotonic() - runStarted < longestRun_ms) return setImmediate();
    await sleep(1 + Math.random() * opening_ms);
    runStarted = monotonic();
  }

  return { take };
}

/** Tries until the lock is free, the caller has gone, or patience ends. */
export async function retryWhileBusy<Result>(
  attempt: () => Result,
  isBusy: (error: unknown) => boolean,
  { signal, time = realTime }: { readonly signal?: Waiter | undefined; readonly time?: Time } = {},
): Promise<Result> {
  const started = time.monotonic();
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (time.monotonic() - started > patience_ms) {
        throw new StoreBusy("the store is busy", { cause: error });
      }
    }
    await time.sleep(Math.random() * opening_ms);
    throwIfGone(signal);
  }
}

function throwIfGone(signal: Waiter | undefined): void {
  if (signal?.aborted === true) throw new StoreBusy("the caller stopped waiting");
}
