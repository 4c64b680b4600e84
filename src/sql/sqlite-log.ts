import { open } from "node:fs/promises";
import { DiskFailed } from "./faults.ts";
import type { Query } from "./run-statements.ts";

/** SQLite's write-ahead log: when it is synced, and when it is carried over into the file. */

/**
 * Waits until what was committed is on the disk, as the engine would with `synchronous=FULL`: the
 * same file, after each commit and before any caller gets an answer. The engine would wait in the
 * thread that serves everybody; Node waits in another. Beside 200 creates a second on a busy disk,
 * a visitor's p99 was 40 ms and more, and is 1 to 2.
 *
 * Until then others may read what was committed. If the power fails they have seen what is lost,
 * but what they wrote after it is lost with it: the log counts up to its first gap.
 */
export type LogSync = {
  /** Resolves when everything that any process committed is on the disk. */
  readonly sync: () => Promise<void>;
  /** Throws `DiskFailed` when the disk has failed before. */
  readonly requireSound: () => void;
  readonly close: () => Promise<void>;
};

/** The engine makes the log with the first read or write of a connection. */
export async function openLogSync(path: string): Promise<LogSync> {
  // For writing, or Windows would not sync it. No lock is on the log, so that closing drops none.
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
      const message = "the disk failed to sync; check the disk and restart Waypost";
      failed = new DiskFailed(message, { cause });
      throw failed;
    }
  }

  return {
    sync: () => {
      // One that is running may have begun too early. The next serves everybody who waits by then.
      next ??= syncAfter(last);
      last = next;
      return last;
    },
    requireSound: () => {
      // A disk that lost something may report a later sync as good.
      if (failed !== undefined) throw failed;
    },
    close: async () => {
      await last.catch(() => undefined);
      await file.close();
    },
  };
}

const commitsApart = 50;
/** 40 MB. */
export const longestLog_pages = 10_000;

/**
 * Carries the log over into the file after each fifty commits, in the thread of the long reads: it
 * syncs both, and would hold everybody up for as long. A log starts from its beginning only when
 * all of it was carried over. Where writers leave no gap, the engine does the rest at a commit once
 * the log is long, and only waits for what came since.
 */
export function createCheckpoints(runAside: (query: Query) => Promise<unknown>): () => void {
  let commits = 0;
  let isRunning = false;
  return () => {
    commits += 1;
    if (commits < commitsApart || isRunning) return;
    commits = 0;
    isRunning = true;
    void runAside({ sql: "PRAGMA wal_checkpoint(PASSIVE)", parameters: [] })
      // It is tried again after as many commits.
      .catch(() => undefined)
      .finally(() => (isRunning = false));
  };
}
