import { setImmediate, setTimeout } from "node:timers/promises";

/** Adds heavy work to the queue, and resolves with its result. */
export type RunQueued = <Result>(work: () => Result) => Promise<Result>;

/**
 * The time limit for rendering a page in a check or preview. It is higher than for visitors,
 * because only the caller waits.
 */
export const pageTimeLimit_ms = 100;

type QueueTiming = {
  /** A clock in milliseconds that never jumps. */
  readonly monotonic: () => number;
  readonly sleep?: (milliseconds: number) => Promise<unknown>;
};

/**
 * Runs checks one after the other. After each check, the queue pauses for as long as the check
 * took, so that other requests are answered in between.
 */
export function createCheckQueue({ monotonic, sleep = pause }: QueueTiming): RunQueued {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    let took_ms = 0;
    const result = last.then(() => {
      const started = monotonic();
      try {
        return work();
      } finally {
        took_ms = monotonic() - started;
      }
    });
    const rest = () => sleep(took_ms);
    last = result.then(rest, rest);
    return result;
  };
}

/** Timers wait for at least a millisecond, which would be too long after a short check. */
function pause(milliseconds: number): Promise<unknown> {
  return milliseconds < 1 ? setImmediate() : setTimeout(milliseconds);
}
