import type { SetAlarm } from "../contract/clock.ts";

/** Writes what was noted in memory a moment later, one write at a time. */
export type Flusher = {
  /** Writes what was noted within the given time; resolves when it is written. */
  readonly schedule: () => Promise<void>;
  /** Writes what was noted as soon as the write that is running now has ended. */
  readonly flush: () => Promise<void>;
  /** Writes what is left; nothing is scheduled any more. */
  readonly close: () => Promise<void>;
};

/** `write` handles its own errors. What is noted while it runs is for the next write. */
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
