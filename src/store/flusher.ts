import type { SetAlarm } from "../contract/clock.ts";

/** Collects changes in memory and writes them a moment later, one write at a time. */
export type Flusher = {
  /** Writes within the given time, and resolves once that is done. */
  readonly schedule: () => Promise<void>;
  /** Writes as soon as the running write has ended. */
  readonly flush: () => Promise<void>;
  /** Writes what is left. Nothing can be scheduled later. */
  readonly close: () => Promise<void>;
};

/** `write` handles its own errors. Changes during a write are left for the next one. */
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
