import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { retryWhileBusy } from "./busy-lock.ts";
import { defineIsAwaited, openDatabase } from "./engine.ts";
import type { ReaderReply, ReaderStart } from "./long-reads.ts";
import { createStatementRunner, type Query } from "./run-statements.ts";

/** The thread of the long reads: a program of its own, in the build as well. */

/** Long statements go through more than any cache holds; this is for the inner pages of indexes. */
const cache_mb = 16;

// The other thread starts it with this.
const { path, unwanted } = workerData as ReaderStart;
const database = openDatabase(path);
database.exec("PRAGMA query_only = ON");
database.exec(`PRAGMA cache_size = -${cache_mb * 1024}`);
database.exec("PRAGMA temp_store = MEMORY");
defineIsAwaited(database, () => Atomics.load(unwanted, 0) === 0);
goLast();
const run = createStatementRunner(database);

parentPort?.on("message", (query: Query | undefined) => {
  if (query === undefined) {
    database.close();
    parentPort?.close();
  } else void answer(query);
});

async function answer(query: Query): Promise<void> {
  const reply = await retryWhileBusy(() => run(query)).then(
    (ran): ReaderReply => ({ ran }),
    (error: Error): ReaderReply => ({ fault: error }),
  );
  // The rule is about windows.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  parentPort?.postMessage(reply);
}

/**
 * When there are more threads than processors, those that serve visitors go first. Only Linux has a
 * priority for a thread; on other systems it would be the process's own.
 */
function goLast(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(0, 10);
  } catch {
    // A sandbox may forbid it: the thread then takes its share as any other.
  }
}
