import { Worker } from "node:worker_threads";
import { sql, type RawBuilder, type SqlBool } from "kysely";
import { createFairTurns } from "./fair-turns.ts";
import { StoreBusy } from "./faults.ts";
import type { SqlQuery, StatementResult } from "./run-statements.ts";
import type { ReadOptions, ReadSignal } from "./sql.ts";

/**
 * Runs long reads of a SQLite file, one after the other, in a thread that starts with the first
 * one. There is only one, because a second would take a processor from the thread that serves
 * visitors.
 */
export type LongReads = {
  /** All statements of `work` see the database as of one moment. */
  readonly read: <Result>(work: () => Promise<Result>, options: ReadOptions) => Promise<Result>;
  /** Runs a statement of the current read. */
  readonly run: (query: SqlQuery) => Promise<StatementResult>;
  /** Runs a statement without a caller when the thread is free. */
  readonly runAside: (query: SqlQuery) => Promise<StatementResult>;
  readonly close: () => Promise<void>;
};

/** For each project. Reads behind them would be answered too late. */
const mostWaiting = 100;
/** No project has this id. */
const asideLine = "aside";

/**
 * A condition that is always true, but ends the statement if its caller has left. It comes first,
 * so that no other condition skips it, and checks only one row in about a thousand. That costs a
 * hundredth of the time of a full scan.
 */
export function whileAwaited(rowkey: RawBuilder<unknown>): RawBuilder<SqlBool> {
  return sql<SqlBool>`(${rowkey} & 1023 or is_awaited())`;
}

export function createLongReads(path: string): LongReads {
  const turns = createFairTurns(1, mostWaiting);
  let thread: ReaderThread | undefined;
  /** The signal of the current read. */
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
    read: (work, options) => turns.run(() => readAtOneMoment(work, options.signal), options),
    run: async (query) => {
      if (current === undefined || current.hasLeft()) throw new StoreBusy("the read is over");
      return run(query);
    },
    runAside: (query) => turns.run(() => run(query), { line: asideLine }),
    close: async () => {
      turns.refuseWaiting();
      current = undefined;
      thread?.interrupt();
      await turns.finish();
      await thread?.close();
    },
  };
}

/** The data that the thread starts with. */
export type ReaderStart = {
  readonly path: string;
  /** Memory that both threads share. Its number becomes 1 when no caller waits any longer. */
  readonly unwanted: Int32Array;
};

/** Errors lose their code between threads, but their message says the same (see `faults.ts`). */
export type ReaderReply = { readonly ran: StatementResult } | { readonly fault: Error };

type PendingQuery = {
  readonly resolve: (ran: StatementResult) => void;
  readonly reject: (error: unknown) => void;
};

type ReaderThread = {
  /** One after the other. */
  readonly run: (query: SqlQuery) => Promise<StatementResult>;
  /** Ends the running statement. */
  readonly interrupt: () => void;
  readonly hasEnded: () => boolean;
  readonly close: () => Promise<void>;
};

/**
 * Starts the thread. It is never terminated and has no memory limit, because V8 would stop it
 * within a statement, and the packaged SQLite would then crash the process.
 */
function startThread(path: string): ReaderThread {
  const unwanted = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  // Node 20 cannot start a thread from TypeScript, so the built file is used from source as well.
  const folder = import.meta.url.endsWith(".ts") ? "../../dist" : ".";
  const file = new URL(`${folder}/reader-thread.js`, import.meta.url);
  const workerData: ReaderStart = { path, unwanted };
  // The process's own `--import` and similar options are not for this thread.
  const worker = new Worker(file, { workerData, execArgv: [] });
  // Keeps the process alive only while a caller waits.
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

  // The rule is meant for browser windows.
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
