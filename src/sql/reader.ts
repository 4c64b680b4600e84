import { Worker } from "node:worker_threads";
import type { LogPages } from "./checkpoints.ts";
import { restoreFault, type FaultData } from "./faults.ts";
import type { Query, Ran, RunStatement } from "./run-statements.ts";

/** A thread with a reading connection of its own, where a long statement holds nobody up. */
export type ThreadReader = {
  /** One after the other; the statements until `letGo` see the store as of one moment. */
  readonly run: RunStatement;
  /** Ends the statement that is under way. */
  readonly interrupt: () => void;
  readonly letGo: () => void;
  readonly close: () => Promise<void>;
  /** Carries the log over into the file, while no statement's moment is held. */
  readonly carryOver: () => Promise<LogPages>;
};

/** What the thread begins with. */
export type ReaderStart = {
  readonly path: string;
  readonly cache_mb: number;
  /** In the memory of both threads: what is at `isUnwanted` and `isRunning` is 1 where it is so. */
  readonly shared: Int32Array;
};

/** Nobody waits for the statement that is under way. */
export const isUnwanted = 0;
export const isRunning = 1;

export type ReaderOrder = Query | "carry over" | "let go" | "close";
export type ReaderReply = { readonly ran: Ran } | { readonly fault: FaultData };

type Waiting = {
  readonly resolve: (ran: Ran) => void;
  readonly reject: (error: unknown) => void;
};

/** Long statements go through more than any cache holds; this is for the inner pages of indexes. */
const cache_mb = 16;
/** A statement asks whether it is wanted far more often; nothing waits for it for longer. */
const mostWaitAtExit_ms = 2000;

/**
 * Starts the thread; `onEnd` is called when it ends, whatever ended it. It is never terminated nor
 * limited in its memory: V8 would stop it in the midst of a statement, and the packaged engine then
 * takes the whole process down with it.
 */
export function openReader(path: string, onEnd: () => void): ThreadReader {
  const shared = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  const worker = startThread({ path, cache_mb, shared });
  // It keeps a process alive only while somebody waits for it.
  worker.unref();
  let waiting: Waiting | undefined;
  let cause: unknown;
  let isEnded = false;
  let isClosing = false;

  function take(): Waiting | undefined {
    const taken = waiting;
    waiting = undefined;
    // Whoever closes it waits as well, maybe while a statement ends that nobody wants any more.
    if (!isClosing) worker.unref();
    return taken;
  }

  worker.on("message", (reply: ReaderReply) => {
    if ("ran" in reply) take()?.resolve(reply.ran);
    else take()?.reject(restoreFault(reply.fault));
  });
  worker.on("error", (error) => (cause = error));
  const interrupt = () => Atomics.store(shared, isUnwanted, 1);
  const endAtExit = () => {
    interrupt();
    Atomics.wait(shared, isRunning, 1, mostWaitAtExit_ms);
  };
  process.on("exit", endAtExit);
  const ended = new Promise<void>((resolve) => {
    worker.on("exit", () => {
      process.off("exit", endAtExit);
      isEnded = true;
      onEnd();
      take()?.reject(describeEnd());
      resolve();
    });
  });
  const describeEnd = () => new Error("the thread that reads has ended", { cause });
  // The rule is about windows.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  const send = (order: ReaderOrder) => worker.postMessage(order);

  const ask = (order: Query | "carry over") =>
    new Promise<Ran>((resolve, reject) => {
      if (isEnded) {
        reject(describeEnd());
        return;
      }
      Atomics.store(shared, isUnwanted, 0);
      waiting = { resolve, reject };
      worker.ref();
      send(order);
    });

  return {
    run: ask,
    carryOver: async () => readPages(await ask("carry over")),
    interrupt,
    letGo: () => send("let go"),
    close: () => {
      isClosing = true;
      worker.ref();
      send("close");
      return ended;
    },
  };
}

function startThread(start: ReaderStart): Worker {
  // Node 20 starts no thread from TypeScript: it is built for those who run the source, too.
  const folder = import.meta.url.endsWith(".ts") ? "../../dist" : ".";
  const file = new URL(`${folder}/reader-thread.js`, import.meta.url);
  // What the process was told to load before it starts is not for a thread that reads.
  return new Worker(file, { workerData: start, execArgv: [] });
}

function readPages({ rows: [row = {}] }: Ran): LogPages {
  return { log: Number(row["log"] ?? 0), carried: Number(row["checkpointed"] ?? 0) };
}
