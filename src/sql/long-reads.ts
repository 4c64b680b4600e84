import { Worker } from "node:worker_threads";
import { sql, type RawBuilder, type SqlBool } from "kysely";
import { createFairQueue } from "./fair-queue.ts";
import { StoreBusy } from "./faults.ts";
import { callerLeft, type SqlQuery, type StatementResult } from "./engine.ts";
import type { ReadOptions, ReadSignal } from "./sql.ts";

/**
 * Runs long reads of a SQLite file in a separate thread, one at a time. The first read starts the
 * thread. More threads would take processor time from the main thread, which serves visitors.
 */
export type LongReads = {
  /** Runs a long read. All statements in `work` see the database as it was at one point in time. */
  readonly read: <Result>(work: () => Promise<Result>, options: ReadOptions) => Promise<Result>;
  /** Runs a statement as part of the current read. */
  readonly run: (query: SqlQuery) => Promise<StatementResult>;
  /** Runs a background statement once the thread is free. */
  readonly runAside: (query: SqlQuery) => Promise<StatementResult>;
  readonly close: () => Promise<void>;
};

/** The maximum number of waiting reads per project. More reads would have to wait too long. */
const mostWaiting = 100;
/** The queue's line for background statements. No project has this ID. */
const asideLine = "aside";

/**
 * Returns a condition that is always true, but ends the statement once its caller no longer waits.
 * Must be the first condition, because SQLite skips conditions after a false one. Checks only about
 * one row in a thousand, so that full scans stay fast.
 */
export function whileAwaited(rowkey: RawBuilder<unknown>): RawBuilder<SqlBool> {
  return sql<SqlBool>`(${rowkey} & 1023 or is_awaited())`;
}

export function createLongReads(path: string): LongReads {
  const queue = createFairQueue(1, mostWaiting);
  let thread: ReaderThread | undefined;
  let current: ReadSignal | undefined;

  function run(query: SqlQuery): Promise<StatementResult> {
    if (thread === undefined || thread.hasEnded()) thread = startThread(path);
    return thread.run(query);
  }

  async function readAtOneMoment<Result>(
    work: () => Promise<Result>,
    signal: ReadSignal,
  ): Promise<Result> {
    current = signal;
    signal.onAbort(() => {
      if (current === signal) thread?.interrupt();
    });
    try {
      await run({ sql: "BEGIN", parameters: [] });
      return await work();
    } catch (error) {
      const isInterrupted = signal.hasLeft() && String(error).includes(callerLeft);
      if (current !== undefined && !isInterrupted) throw error;
      throw new StoreBusy("the store is closed, or the caller has left", { cause: error });
    } finally {
      current = undefined;
      await run({ sql: "ROLLBACK", parameters: [] }).catch(() => undefined);
    }
  }

  return {
    read: (work, options) => queue.run(() => readAtOneMoment(work, options.signal), options),
    run: async (query) => {
      if (current === undefined || current.hasLeft()) throw new StoreBusy("the read is over");
      return run(query);
    },
    runAside: (query) => queue.run(() => run(query), { line: asideLine }),
    close: async () => {
      queue.refuseWaiting();
      current = undefined;
      thread?.interrupt();
      await queue.finish();
      await thread?.close();
    },
  };
}

export type ReaderStart = {
  readonly path: string;
  /** Memory that both threads share. It contains 1 once the caller no longer waits. */
  readonly unwanted: Int32Array;
};

/**
 * The result of a statement. An error loses its code between threads, so `faults.ts` derives the
 * code from the message.
 */
export type ReaderReply = { readonly ran: StatementResult } | { readonly fault: Error };

type PendingQuery = {
  readonly resolve: (ran: StatementResult) => void;
  readonly reject: (error: unknown) => void;
};

type ReaderThread = {
  /** Runs a statement. The previous statement must have ended. */
  readonly run: (query: SqlQuery) => Promise<StatementResult>;
  readonly interrupt: () => void;
  readonly hasEnded: () => boolean;
  readonly close: () => Promise<void>;
};

/**
 * Starts the thread. It is never terminated and has no memory limit, because stopping it during a
 * statement would make the packaged SQLite crash the process.
 */
function startThread(path: string): ReaderThread {
  const unwanted = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  // Node 20 cannot run TypeScript in a thread, so the thread always runs the built file.
  const folder = import.meta.url.endsWith(".ts") ? "../../dist" : ".";
  const file = new URL(`${folder}/reader-thread.js`, import.meta.url);
  const workerData: ReaderStart = { path, unwanted };
  // The process's options, such as `--import`, must not apply to this thread.
  const worker = new Worker(file, { workerData, execArgv: [] });
  // The thread keeps the process alive only while a caller waits.
  worker.unref();
  let waiting: PendingQuery | undefined;
  let cause: unknown;
  let ended: Error | undefined;
  let isClosing = false;

  function take(): PendingQuery | undefined {
    const taken = waiting;
    waiting = undefined;
    if (!isClosing) worker.unref();
    return taken;
  }

  // This lint rule is meant for browser windows.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  const send = (query: SqlQuery | undefined) => worker.postMessage(query);
  const interrupt = () => Atomics.store(unwanted, 0, 1);
  worker.on("message", (reply: ReaderReply) => {
    if ("ran" in reply) take()?.resolve(reply.ran);
    else take()?.reject(reply.fault);
  });
  worker.on("error", (error) => (cause = error));
  const exited = new Promise<void>((resolve) => {
    worker.on("exit", () => {
      ended = new Error("the thread that reads has ended", { cause });
      take()?.reject(ended);
      resolve();
    });
  });

  return {
    run: (query) =>
      new Promise<StatementResult>((resolve, reject) => {
        if (ended !== undefined) throw ended;
        Atomics.store(unwanted, 0, 0);
        waiting = { resolve, reject };
        worker.ref();
        send(query);
      }),
    interrupt,
    hasEnded: () => ended !== undefined,
    close: () => {
      isClosing = true;
      worker.ref();
      send(undefined);
      return exited;
    },
  };
}
