import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { retryWhileBusy } from "./faults.ts";
import { defineIsAwaited, openDatabase, createStatementRunner, type SqlQuery } from "./engine.ts";
import type { ReaderReply, ReaderStart } from "./long-reads.ts";

/** The entry point of the thread for long reads. The build writes it to a separate file. */

/** Enough for the inner pages of indexes. The pages with rows would not fit in any cache. */
const cache_mb = 16;

// The cast is safe, because `startThread` passes this data.
const { path, unwanted } = workerData as ReaderStart;
const database = openDatabase(path);
database.exec("PRAGMA query_only = ON");
database.exec(`PRAGMA cache_size = -${cache_mb * 1024}`);
database.exec("PRAGMA temp_store = MEMORY");
defineIsAwaited(database, () => Atomics.load(unwanted, 0) === 0);
lowerPriority();
const run = createStatementRunner(database);

parentPort?.on("message", (query: SqlQuery | undefined) => {
  if (query === undefined) {
    database.close();
    parentPort?.close();
  } else void answer(query);
});

async function answer(query: SqlQuery): Promise<void> {
  const reply = await retryWhileBusy(() => run(query)).then(
    (ran): ReaderReply => ({ ran }),
    (error: Error): ReaderReply => ({ fault: error }),
  );
  // This lint rule is meant for browser windows.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  parentPort?.postMessage(reply);
}

/**
 * Gives this thread a lower priority than the main thread, which serves visitors. Only Linux has
 * priorities per thread. On other systems, this would slow down the whole process.
 */
function lowerPriority(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(0, 10);
  } catch {
    // A sandbox may forbid this. Then the thread keeps the normal priority.
  }
}
