import { open } from "node:fs/promises";
import { DiskFailed } from "./faults.ts";

/**
 * Waits until what was committed is on the disk, as the engine would with `synchronous=FULL`: the
 * same file, after each commit and before anybody is told of it. The engine would wait in the
 * thread that serves everybody; Node waits in another. Beside 200 creates a second on a busy disk
 * a visitor's p99 was 40 ms and more, and is 1 to 2.
 *
 * Until then others may read what was committed. If the power fails they have seen what is lost,
 * but whatever they wrote after it is lost with it: the log counts up to its first gap.
 */
export type LogSync = {
  /** Resolves when all that was committed is on the disk, by whichever process. */
  readonly sync: () => Promise<void>;
  /** Throws `DiskFailed` where the disk has failed before. */
  readonly requireSound: () => void;
  readonly close: () => Promise<void>;
};

/** The engine makes the log with the first read or write of a connection. */
export async function openLogSync(path: string): Promise<LogSync> {
  // For writing, or Windows would not sync it. No lock lies on the log, so that closing drops none.
  const file = await open(`${path}-wal`, "r+");
  let last: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  let failed: DiskFailed | undefined;

  async function syncAfter(before: Promise<void>): Promise<void> {
    await before;
    next = undefined;
    try {
      await file.datasync();
    } catch (cause) {
      failed = new DiskFailed("the disk failed to sync; check the disk and restart Waypost", {
        cause,
      });
      throw failed;
    }
  }

  return {
    sync: () => {
      // One that is under way may have begun too early; the next serves all who wait by then.
      next ??= syncAfter(last);
      last = next;
      return last;
    },
    requireSound: () => {
      // What a disk has failed to keep it may call kept the next time.
      if (failed !== undefined) throw failed;
    },
    close: async () => {
      await last.catch(() => undefined);
      await file.close();
    },
  };
}
