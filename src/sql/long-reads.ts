import { Worker } from "node:worker_threads";
import { sql, type RawBuilder, type SqlBool } from "kysely";
import { createFairQueue } from "./fair-queue.ts";
import { StoreBusy } from "./faults.ts";
import type { SqlQuery, StatementResult } from "./engine.ts";
import type { ReadOptions, ReadSignal } from "./sql.ts";

/**
 * Runs long reads of a SQLite file in a separate thread, one after the other. The first read starts
 * the thread. A second thread would take a processor from the thread that serves visitors.
 */
export type LongReads = {
  /** Runs a long read. All statements of `work` see the database at one point in time. */
  readonly read: <Result>(work: () => Promise<Result>, options: ReadOptions) => Promise<Result>;
  /** Runs a statement of the current read. */
  readonly run: (query: SqlQuery) => Promise<StatementResult>;
  /** Runs a background statement when the thread is free. */
  readonly runAside: (query: SqlQuery) => Promise<StatementResult>;
  readonly close: () => Promise<void>;
};

/** The maximum per project. More reads would take too long to start. */
const mostWaiting = 100;
/** The queue of background statements. No project has this id. */
const asideLine = "aside";

/**
 * Returns a condition that is always true, but ends the statement if its caller has left. Put it
 * first, so that no other condition skips it. Checks only one row in about a thousand, to keep full
 * scans fast.
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
      throw current === undefined ? new StoreBusy("the store is closed", { cause: error }) : error;
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

/** The data that is passed to the thread at its start. */
export type ReaderStart = {
  readonly path: string;
  /** Memory shared by both threads. Its number becomes 1 when the caller has left. */
  readonly unwanted: Int32Array;
};

/** Errors lose their code between threads, but `faults.ts` derives it from the message. */
export type ReaderReply = { readonly ran: StatementResult } | { readonly fault: Error };

type PendingQuery = {
  readonly resolve: (ran: StatementResult) => void;
  readonly reject: (error: unknown) => void;
};

type ReaderThread = {
  /** Runs a statement. The previous statement must have ended. */
  readonly run: (query: SqlQuery) => Promise<StatementResult>;
  /** Ends the running statement. */
  readonly interrupt: () => void;
  readonly hasEnded: () => boolean;
  readonly close: () => Promise<void>;
};

/**
 * Starts the thread. This thread is never terminated and has no memory limit. V8 would stop it
 * within a statement, and the packaged SQLite would then crash the process.
 */
function startThread(path: string): ReaderThread {
  const unwanted = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  // Node 20 cannot start a thread from TypeScript, so the source also uses the built file.
  const folder = import.meta.url.endsWith(".ts") ? "../../dist" : ".";
  const file = new URL(`${folder}/reader-thread.js`, import.meta.url);
  const workerData: ReaderStart = { path, unwanted };
  // Options of the process, such as `--import`, must not apply to this thread.
  const worker = new Worker(file, { workerData, execArgv: [] });
  // Keep the process alive only while a caller waits.
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
