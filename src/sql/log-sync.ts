import { open } from "node:fs/promises";
import { StoreBusy } from "./faults.ts";

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
  readonly noteCommit: () => void;
  /** Resolves when all that was committed is on the disk. */
  readonly sync: () => Promise<void>;
  /** Throws where the disk has failed before. */
  readonly requireSound: () => void;
  readonly close: () => Promise<void>;
};

/** The engine makes the log with the first read or write of a connection. */
export async function openLogSync(path: string): Promise<LogSync> {
  // For writing, or Windows would not sync it. No lock lies on the log, so that closing drops none.
  const file = await open(`${path}-wal`, "r+");
  let last: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  let isBehind = false;
  let fault: unknown;

  async function syncAfter(before: Promise<void>): Promise<void> {
    await before;
    next = undefined;
    isBehind = false;
    try {
      await file.datasync();
    } catch (error) {
      fault = error;
      throw error;
    }
  }

  return {
    noteCommit: () => {
      isBehind = true;
    },
    sync: () => {
      // One that is under way may have begun too early; the next serves all who wait by then.
      if (isBehind) next ??= syncAfter(last);
      last = next ?? last;
      return last;
    },
    requireSound: () => {
      // What a disk has failed to keep it may call kept the next time.
      if (fault === undefined) return;
      throw new StoreBusy("the disk has failed, and the process must be started anew", {
        cause: fault,
      });
    },
    close: async () => {
      await last.catch(() => undefined);
      await file.close();
    },
  };
}
