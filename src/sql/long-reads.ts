import { Worker } from "node:worker_threads";
import { sql, type RawBuilder, type SqlBool } from "kysely";
import { createFairTurns } from "./fair-turns.ts";
import { restoreFault, StoreBusy, type FaultData } from "./faults.ts";
import type { Query, Ran, RunStatement } from "./run-statements.ts";
import type { ReadOptions, ReadSignal } from "./sql.ts";

/**
 * Reads of a SQLite file that may take long, one after the other in a thread of their own. The
 * thread starts with the first of them and ends when none has come for a while. There is one: a
 * second would take a processor from the thread that serves visitors, and many machines have two.
 */
export type LongReads = {
  /** All statements of `work` see the store as of one moment. */
  readonly read: <Result>(work: () => Promise<Result>, options: ReadOptions) => Promise<Result>;
  /** Runs a statement of the work that has its turn. */
  readonly run: RunStatement;
  /** Runs statements of no caller, which see no common moment. */
  readonly aside: <Result>(work: (run: RunStatement) => Promise<Result>) => Promise<Result>;
  readonly close: () => Promise<void>;
};

/** Of one project; those behind them would be answered too late. */
const mostWaiting = 100;
const idle_ms = 30_000;
/** No project has such an id. */
const asideLine = "aside";

/**
 * A condition that always holds, but ends the statement when no caller waits for it any more. It is
 * checked for one row in a thousand, and first, so that no other condition keeps it from being
 * checked: a hundredth of the time of what goes through all rows.
 */
export function whileAwaited(rowkey: RawBuilder<unknown>): RawBuilder<SqlBool> {
  return sql<SqlBool>`(${rowkey} & 1023 or is_awaited())`;
}

export function createLongReads(path: string): LongReads {
  const turns = createFairTurns(1, mostWaiting);
  let thread: Thread | undefined;
  /** Of the read that has its turn. */
  let current: ReadSignal | undefined;
  let idleTimer: NodeJS.Timeout | undefined;

  const run: RunStatement = async (query) => {
    if (thread === undefined || thread.hasEnded()) thread = startThread(path);
    return thread.run(query);
  };
  const exec = (statement: string) => run({ sql: statement, parameters: [] });

  async function closeThread(): Promise<void> {
    const closing = thread?.close();
    thread = undefined;
    await closing;
  }

  const takeTurn = <Result>(
    work: () => Promise<Result>,
    options: { readonly line: string; readonly signal?: ReadSignal },
  ) =>
    turns.run(async () => {
      clearTimeout(idleTimer);
      try {
        return await work();
      } finally {
        current = undefined;
        idleTimer = setTimeout(() => void closeThread(), idle_ms).unref();
      }
    }, options);

  async function readAtOneMoment<Result>(
    work: () => Promise<Result>,
    signal: ReadSignal,
  ): Promise<Result> {
    current = signal;
    signal.onAbort(() => {
      if (current === signal) thread?.interrupt();
    });
    await exec("BEGIN");
    try {
      return await work();
    } finally {
      await exec("ROLLBACK").catch(() => undefined);
    }
  }

  return {
    read: (work, options) => takeTurn(() => readAtOneMoment(work, options.signal), options),
    run: async (query) => {
      if (current === undefined || current.hasLeft()) throw new StoreBusy("the read is over");
      return run(query);
    },
    aside: (work) => takeTurn(() => work(run), { line: asideLine }),
    close: async () => {
      turns.refuseAll();
      current = undefined;
      thread?.interrupt();
      await turns.finish();
      clearTimeout(idleTimer);
      await closeThread();
    },
  };
}

/** What the thread begins with. */
export type ReaderStart = {
  readonly path: string;
  /** In the memory of both threads; the one number in it is 1 when no caller waits any more. */
  readonly unwanted: Int32Array;
  /** The same; 1 while a statement runs. */
  readonly running: Int32Array;
};

export type ReaderReply = { readonly ran: Ran } | { readonly fault: FaultData };

type Waiting = {
  readonly resolve: (ran: Ran) => void;
  readonly reject: (error: unknown) => void;
};

type Thread = {
  /** One after the other. */
  readonly run: RunStatement;
  /** Ends the statement that is running. */
  readonly interrupt: () => void;
  readonly hasEnded: () => boolean;
  readonly close: () => Promise<void>;
};

/** A statement checks far more often whether it is wanted. */
const mostWaitAtExit_ms = 2000;

/**
 * It is never terminated and its memory is not limited: V8 would stop it in the middle of a
 * statement, and the packaged engine then takes the whole process down.
 */
function startThread(path: string): Thread {
  const [unwanted, running] = [shareNumber(), shareNumber()];
  // Node 20 starts no thread from TypeScript: it is built for those who run the source, too.
  const folder = import.meta.url.endsWith(".ts") ? "../../dist" : ".";
  const file = new URL(`${folder}/reader-thread.js`, import.meta.url);
  const workerData: ReaderStart = { path, unwanted, running };
  // What the process was told to load before it starts is not for a thread that reads.
  const worker = new Worker(file, { workerData, execArgv: [] });
  // It keeps a process alive only while somebody waits for it.
  worker.unref();
  let waiting: Waiting | undefined;
  let cause: unknown;
  let ended: Error | undefined;
  let isClosing = false;

  function take(): Waiting | undefined {
    const taken = waiting;
    waiting = undefined;
    if (!isClosing) worker.unref();
    return taken;
  }

  // The rule is about windows.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  const send = (query: Query | undefined) => worker.postMessage(query);
  const interrupt = () => Atomics.store(unwanted, 0, 1);
  const endAtExit = () => {
    interrupt();
    Atomics.wait(running, 0, 1, mostWaitAtExit_ms);
  };
  process.on("exit", endAtExit);
  worker.on("message", (reply: ReaderReply) => {
    if ("ran" in reply) take()?.resolve(reply.ran);
    else take()?.reject(restoreFault(reply.fault));
  });
  worker.on("error", (error) => (cause = error));
  const exited = new Promise<void>((resolve) => {
    worker.on("exit", () => {
      process.off("exit", endAtExit);
      ended = new Error("the thread that reads has ended", { cause });
      take()?.reject(ended);
      resolve();
    });
  });

  return {
    run: (query) =>
      new Promise<Ran>((resolve, reject) => {
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

function shareNumber(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}
