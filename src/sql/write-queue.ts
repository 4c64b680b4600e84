import { setImmediate, setTimeout } from "node:timers/promises";
import { StoreBusy } from "./faults.ts";
import type { WriteSignal } from "./sql.ts";

/**
 * Which writer is next. Within the process writers take turns in the order they came. Between
 * processes SQLite has one lock and no queue, so a writer that finds it taken waits a random moment
 * outside the driver, and one that has used it for long pauses, so that another gets it (storage.md
 * §0).
 */

/** How time is measured and waited for; only a test has another one. */
type Time = {
  readonly monotonic: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
};

const realTime: Time = {
  monotonic: () => performance.now(),
  sleep: (milliseconds) => setTimeout(milliseconds),
};

const longestWait_ms = 5_000;
const longestRun_ms = 8;
const pause_ms = 2;

export function createWriteQueue({ monotonic, sleep } = realTime) {
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;
  let runStarted = monotonic();

  /** Runs `work` when no other writer of this process is under way. */
  function take<Result>(work: () => Promise<Result>, signal?: WriteSignal): Promise<Result> {
    if (waiting === 0) runStarted = monotonic();
    waiting += 1;
    const result = last.then(() => {
      requireWaiting(signal);
      return work();
    });
    last = result.then(endTurn, endTurn);
    return result;
  }

  async function endTurn(): Promise<void> {
    waiting -= 1;
    if (waiting > 0) await letOthersWrite();
  }

  /** Lets the event loop go on between two writes, and other processes write after a long run. */
  async function letOthersWrite(): Promise<void> {
    if (monotonic() - runStarted < longestRun_ms) return setImmediate();
    await sleep(1 + Math.random() * pause_ms);
    runStarted = monotonic();
  }

  return { take };
}

/** Tries until the lock is free, the caller has gone, or it has taken too long. */
export async function retryWhileBusy<Result>(
  attempt: () => Result,
  isBusy: (error: unknown) => boolean,
  {
    signal,
    time = realTime,
  }: { readonly signal?: WriteSignal | undefined; readonly time?: Time } = {},
): Promise<Result> {
  const started = time.monotonic();
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (time.monotonic() - started > longestWait_ms) {
        throw new StoreBusy("the store is busy", { cause: error });
      }
    }
    await time.sleep(Math.random() * pause_ms);
    requireWaiting(signal);
  }
}

function requireWaiting(signal: WriteSignal | undefined): void {
  if (signal?.aborted === true) throw new StoreBusy("the caller stopped waiting");
}
