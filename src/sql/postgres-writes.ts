import { setTimeout } from "node:timers/promises";
import { requireWaiting } from "./busy-lock.ts";
import { StoreBusy } from "./faults.ts";
import { isBroken, isLost, isRepeatable } from "./postgres-faults.ts";
import { type PostgresConnection, type PostgresPool } from "./postgres-pool.ts";
import { createWriterRow, longestLock_ms, takeBack } from "./postgres-writer-row.ts";
import type { RunStatement } from "./run-statements.ts";
import type { WriteOptions, WriteSignal } from "./sql.ts";
import { createWriteLine } from "./write-line.ts";

/**
 * The writes of this process, one after the other on one connection: they never have to be repeated
 * for each other's sake. Those of other processes come between, and where two are in each other's
 * way, the server takes one of them back, and it is done again.
 */
export type PostgresWrites = {
  readonly write: <Result>(work: () => Promise<Result>, options?: WriteOptions) => Promise<Result>;
  /** Runs a statement of the work that has its turn. */
  readonly run: RunStatement;
  readonly countCommits: () => number;
  /** Serves those who wait, and nobody who comes later. */
  readonly finish: () => Promise<void>;
};

type Writer = {
  /** Answers the fault with which all others fail who wait behind it. */
  readonly serve: () => Promise<StoreBusy | undefined>;
  readonly reject: (error: unknown) => void;
};

/** Undefined where nothing came of it, though nothing failed. */
type Done<Result> = { readonly result: Result } | undefined;

/** A table of many millions of rows is gone through in minutes. */
const longestLong_ms = 60 * 60_000;
/** Whoever waits for another process that does the same work waits as long. */
const longSettings = ["statement_timeout", "lock_timeout"].map(
  (name) => `set local ${name} = ${longestLong_ms}`,
);

/** How long a transaction is tried again and again. */
const longestRepeats_ms = 5_000;
const mostBackoff_ms = 100;

/** `lock_ms`: how long a write waits for somebody else's lock, if not as usual. */
export function createPostgresWrites(pool: PostgresPool, lock_ms = longestLock_ms): PostgresWrites {
  const turns = createTurns();
  let commits = 0;
  const row = createWriterRow(pool, () => commits > 0, lock_ms);
  let current: RunStatement | undefined;
  let isOver = false;

  async function attempt<Result>(
    work: () => Promise<Result>,
    { signal, isLong = false }: WriteOptions,
  ): Promise<Done<Result>> {
    const connection = await row.take();
    let own: number;
    let result: Result;
    try {
      own = await row.begin(connection);
      if (isLong) await connection.runAll(longSettings);
      current = isLong
        ? (asked) => connection.run(asked, longestLong_ms)
        : runInTime(connection, lock_ms, signal);
      result = await work();
    } catch (error) {
      current = undefined;
      await takeBack(connection, error);
      throw error;
    }
    current = undefined;
    const isCommitted = await commit(connection).catch((error: unknown) => {
      if (!isLost(error)) throw error;
      return row.isCommitted(own, error);
    });
    if (!isCommitted) return undefined;
    // Before anybody is told: who knows of a write must find it counted.
    commits += 1;
    return { result };
  }

  return {
    write: async <Result>(work: () => Promise<Result>, options: WriteOptions = {}) => {
      const { signal, isPatient = false } = options;
      if (isOver) throw new StoreBusy("the store is closed");
      const begin = async () => {
        // It has waited for a connection, and for whoever holds off all writes.
        requireWaiting(signal);
        signal?.noteWriting?.();
        return work();
      };
      return turns.wait(() => repeat(() => attempt(begin, options), signal), isPatient);
    },
    run: (query) => {
      if (current === undefined) throw new Error("a write's statement came after its end");
      return current(query);
    },
    countCommits: () => commits,
    finish: async () => {
      isOver = true;
      await turns.end();
      // It is for those who come later: whoever is closing has done what it was asked.
      if (commits > 0) await row.tidy().catch(() => undefined);
    },
  };
}

/**
 * A write's turn may come when its caller has little time left. It waits for a lock no longer than
 * that: what only ever waited was not done, and its caller can still be told so.
 */
function runInTime(
  connection: PostgresConnection,
  lock_ms: number,
  signal: WriteSignal | undefined,
): RunStatement {
  return async (asked) => {
    const left_ms = signal?.left_ms?.() ?? lock_ms;
    if (left_ms < lock_ms) {
      // None at all would be a wait without end.
      const most_ms = Math.max(Math.ceil(left_ms), 1);
      await connection.runAll([`set local lock_timeout = ${most_ms}`]);
    }
    return connection.run(asked);
  };
}

/** They have their turns one after the other. */
function createTurns() {
  const line = createWriteLine<Writer>();
  let running: Promise<void> | undefined;

  async function serveLine(): Promise<void> {
    while (!line.isEmpty()) {
      const held = await line.choose().shift()?.serve();
      // One after the other they would each wait for the same lock, the last of them for minutes.
      if (held !== undefined) for (const { reject } of line.takeAll()) reject(held);
    }
    running = undefined;
  }

  return {
    wait: <Result>(write: () => Promise<Result>, isPatient: boolean) =>
      new Promise<Result>((resolve, reject) => {
        const tell = (result: Result) => {
          resolve(result);
          return undefined;
        };
        const fail = (error: unknown) => {
          reject(error);
          return error instanceof StoreBusy && error.outage === "held" ? error : undefined;
        };
        line.add({ serve: () => write().then(tell, fail), reject }, isPatient);
        running ??= serveLine();
      }),
    /** When all who wait have been served. */
    end: async () => running,
  };
}

/** Until it is done, it fails for good, the caller has gone, or it has taken too long. */
async function repeat<Result>(
  attempt: () => Promise<Done<Result>>,
  signal: WriteSignal | undefined,
): Promise<Result> {
  const started = performance.now();
  let cause: unknown;
  for (let turn = 1, breaks = 0; ; turn += 1) {
    requireWaiting(signal);
    try {
      const done = await attempt();
      if (done !== undefined) return done.result;
    } catch (error) {
      // The connection may have been broken for long, and only now somebody used it.
      if (isBroken(error) && breaks === 0) breaks += 1;
      else if (!isRepeatable(error)) throw error;
      cause = error;
    }
    if (performance.now() - started > longestRepeats_ms) {
      throw new StoreBusy("others write the same", { cause });
    }
    await setTimeout(Math.random() * Math.min(2 ** turn, mostBackoff_ms));
  }
}

async function commit(connection: PostgresConnection): Promise<true> {
  let isCommitted: boolean;
  try {
    isCommitted = await connection.commit();
    connection.giveBack();
  } catch (error) {
    connection.giveBack(error);
    throw error;
  }
  if (!isCommitted) throw new Error("a statement failed, and the write went on");
  return true;
}
