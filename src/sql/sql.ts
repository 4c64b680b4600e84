import type { Kysely } from "kysely";

/** The common interface of SQLite and PostgreSQL databases. */

/** The state of a write's caller. A write does not start if its caller no longer waits. */
export type WriteSignal = {
  readonly hasLeft: () => boolean;
  /** Returns how long the caller will still wait. After that, no write may start. */
  readonly left_ms?: () => number;
  readonly noteWriting?: () => void;
};

export type WriteOptions = {
  readonly signal?: WriteSignal | undefined;
  /** True to let other writes go first, because no caller waits for this write. */
  readonly isPatient?: boolean | undefined;
  /** True for statements that may read whole tables. Their timeouts are much longer. */
  readonly isLong?: boolean | undefined;
};

export type ReadSignal = WriteSignal & {
  /** Registers a function to run when the caller no longer waits. */
  readonly onAbort: (end: () => void) => void;
};

export type ReadOptions = {
  readonly signal: ReadSignal;
  /** The line in the queue, usually the project's id. Lines take turns. */
  readonly line: string;
};

export type Engine = "sqlite" | "postgres";

/**
 * The numbers of open and idle connections, and of requests that wait for a connection. `open`
 * includes `idle`.
 */
export type PoolMeasures = Readonly<Record<"open" | "idle" | "waiting", number>>;

export type Sql<Tables> = {
  readonly engine: Engine;
  /** Reads committed data only. */
  readonly db: Kysely<Tables>;
  /**
   * Runs a long read without blocking other work. `work` sees the database at one point in time. If
   * its caller stops waiting, no further statement runs, and on SQLite, a statement with
   * `whileAwaited` ends early. Throws StoreBusy if too many reads are waiting.
   */
  readonly readLong: <Result>(
    work: (db: Kysely<Tables>) => Promise<Result>,
    options: ReadOptions,
  ) => Promise<Result>;
  /**
   * Runs `work` in a transaction. If the promise resolves, all changes are durable. If it rejects,
   * nothing was written, unless the error is OutcomeUnknown. On SQLite, several writes may share a
   * transaction and see each other's changes. On PostgreSQL, `work` may be retried, so it must have
   * no effects outside the database.
   */
  readonly write: <Result>(
    work: (db: Kysely<Tables>) => Promise<Result>,
    options?: WriteOptions,
  ) => Promise<Result>;
  /** Returns how many transactions this process has committed. */
  readonly countWrites: () => number;
  /** Returns a number that changes after a commit by any process. */
  readonly readVersion: () => Promise<number>;
  /** Set only for databases with a connection pool. */
  readonly measurePool?: () => PoolMeasures;
  readonly close: () => Promise<void>;
};
