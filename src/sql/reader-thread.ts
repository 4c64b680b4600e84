import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { defineIsAwaited, openDatabase } from "./engine.ts";
import { describeFault } from "./faults.ts";
import {
  isRunning,
  isUnwanted,
  type ReaderOrder,
  type ReaderReply,
  type ReaderStart,
} from "./reader.ts";
import { createStatementRunner, type Query } from "./run-statements.ts";

/** What the thread of a `Reader` does: a program of its own, in the build as well. */

// Whoever starts it gives it this.
const { path, cache_mb, shared } = workerData as ReaderStart;
const database = openDatabase(path);
database.exec("PRAGMA query_only = ON");
database.exec(`PRAGMA cache_size = -${cache_mb * 1024}`);
database.exec("PRAGMA temp_store = MEMORY");
defineIsAwaited(database, () => Atomics.load(shared, isUnwanted) === 0);
goLast();
const { run: runStatement } = createStatementRunner(() => database);
let isHeld = false;

parentPort?.on("message", (order: ReaderOrder) => {
  if (order === "close") {
    database.close();
    parentPort?.close();
  } else if (order === "let go") {
    if (isHeld) database.exec("COMMIT");
    isHeld = false;
  } else {
    const statement = order === "carry over" ? carryOver : order;
    void run(statement, order !== "carry over").then(reply);
  }
});

/**
 * Where there are more threads than processors, those that serve visitors go first. Linux alone has
 * a priority for a thread; elsewhere it would be the process's own.
 */
function goLast(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(0, 10);
  } catch {
    // A sandbox may forbid it: the thread then takes its share as any other.
  }
}

function reply(ran: ReaderReply): void {
  // The rule is about windows.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  parentPort?.postMessage(ran);
}

/** What others wrote comes from the log into the file; nobody waits for it. */
const carryOver: Query = { sql: "PRAGMA wal_checkpoint(PASSIVE)", parameters: [] };

async function run(query: Query, isOfMoment: boolean): Promise<ReaderReply> {
  Atomics.store(shared, isRunning, 1);
  try {
    if (isOfMoment && !isHeld) database.exec("BEGIN");
    isHeld ||= isOfMoment;
    return { ran: await runStatement(query) };
  } catch (error) {
    return { fault: describeFault(error) };
  } finally {
    Atomics.store(shared, isRunning, 0);
    Atomics.notify(shared, isRunning);
  }
}
