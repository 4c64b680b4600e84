import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { retryWhileBusy } from "./faults.ts";
import { defineIsAwaited, openDatabase, createStatementRunner, type SqlQuery } from "./engine.ts";
import type { ReaderReply, ReaderStart } from "./long-reads.ts";

/** The program of the thread for long reads. The build makes it a separate file. */

/** Caches the inner pages of indexes. Long statements read more data than any cache can hold. */
const cache_mb = 16;

// The main thread passes this data.
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
 * Gives this thread a lower priority than the one that serves visitors. Only Linux has a priority
 * per thread. On other systems, the whole process would become slower.
 */
function lowerPriority(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(0, 10);
  } catch {
    // A sandbox may forbid this. The thread then has the normal priority.
  }
}
