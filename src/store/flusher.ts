import type { SetAlarm } from "../contract/clock.ts";

/** Collects changes in memory and writes them after a short delay, one write at a time. */
export type Flusher = {
  /** Writes within the given time. The promise resolves once the changes are written. */
  readonly schedule: () => Promise<void>;
  /** Writes as soon as the running write has ended. */
  readonly flush: () => Promise<void>;
  /** Writes the remaining changes. Nothing can be scheduled afterwards. */
  readonly close: () => Promise<void>;
};

/**
 * Creates a flusher. `write` handles its own errors. The next write stores changes made meanwhile.
 */
export function createFlusher(
  write: () => Promise<void>,
  setAlarm: SetAlarm,
  within_ms: number,
): Flusher {
  let last: Promise<void> = Promise.resolve();
  let queued: Promise<void> | undefined;
  let scheduled: Promise<void> | undefined;
  let isClosed = false;

  function flush(): Promise<void> {
    queued ??= last.then(() => {
      queued = undefined;
      return write();
    });
    last = queued;
    return queued;
  }

  return {
    schedule: () => {
      if (isClosed) return last;
      scheduled ??= new Promise<void>((resolve) => {
        setAlarm(within_ms, resolve);
      }).then(() => {
        scheduled = undefined;
        return isClosed ? last : flush();
      });
      return scheduled;
    },
    flush,
    close: () => {
      isClosed = true;
      return flush();
    },
  };
}
