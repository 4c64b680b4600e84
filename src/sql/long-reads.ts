import { Worker } from "node:worker_threads";
import { sql, type RawBuilder, type SqlBool } from "kysely";
import { createFairTurns } from "./fair-turns.ts";
import { StoreBusy } from "./faults.ts";
import type { Query, Ran } from "./run-statements.ts";
import type { ReadOptions, ReadSignal } from "./sql.ts";

/**
 * Reads of a SQLite file that may take long, one after the other in a thread of their own, which
 * starts with the first of them. There is one: a second would take a processor from the thread that
 * serves visitors, and many machines have two.
 */
export type LongReads = {
  /** All statements of `work` see the store as of one moment. */
  readonly read: <Result>(work: () => Promise<Result>, options: ReadOptions) => Promise<Result>;
  /** Runs a statement of the work that has its turn. */
  readonly run: (query: Query) => Promise<Ran>;
  /** Runs a statement of no caller when the thread is free. */
  readonly runAside: (query: Query) => Promise<Ran>;
  readonly close: () => Promise<void>;
};

/** Of one project; those behind them would be answered too late. */
const mostWaiting = 100;
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

  function run(query: Query): Promise<Ran> {
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

/** What the thread begins with. */
export type ReaderStart = {
  readonly path: string;
  /** In the memory of both threads; the one number in it is 1 when no caller waits any more. */
  readonly unwanted: Int32Array;
};

/** An error loses its code between two threads; its message has the same in it (`faults.ts`). */
export type ReaderReply = { readonly ran: Ran } | { readonly fault: Error };

type Waiting = {
  readonly resolve: (ran: Ran) => void;
  readonly reject: (error: unknown) => void;
};

type Thread = {
  /** One after the other. */
  readonly run: (query: Query) => Promise<Ran>;
  /** Ends the statement that is running. */
  readonly interrupt: () => void;
  readonly hasEnded: () => boolean;
  readonly close: () => Promise<void>;
};

/**
 * It is never terminated and its memory is not limited: V8 would stop it in the middle of a
 * statement, and the packaged engine then takes the whole process down.
 */
function startThread(path: string): Thread {
  const unwanted = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  // Node 20 starts no thread from TypeScript: it is built for those who run the source, too.
  const folder = import.meta.url.endsWith(".ts") ? "../../dist" : ".";
  const file = new URL(`${folder}/reader-thread.js`, import.meta.url);
  const workerData: ReaderStart = { path, unwanted };
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
