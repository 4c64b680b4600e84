import type { Kysely } from "kysely";

/** The common interface of SQLite and PostgreSQL databases. */

/** A caller that may leave. A write is skipped if its caller leaves before it starts. */
export type WriteSignal = {
  readonly hasLeft: () => boolean;
  /** Returns the remaining time. After that, only a write that has started may finish. */
  readonly left_ms?: () => number;
  readonly noteWriting?: () => void;
};

export type WriteOptions = {
  readonly signal?: WriteSignal | undefined;
  /** True to let other writes go first, because no one waits for this one. */
  readonly isPatient?: boolean | undefined;
  /** True for statements that may read whole tables. Their timeouts are much longer. */
  readonly isLong?: boolean | undefined;
};

/** A caller of a long read, who may leave. */
export type ReadSignal = WriteSignal & {
  /** Registers a function to call when the caller leaves. */
  readonly onAbort: (end: () => void) => void;
};

export type ReadOptions = {
  readonly signal: ReadSignal;
  /** The line in the queue, usually the project's id. Lines take turns. */
  readonly line: string;
};

export type Engine = "sqlite" | "postgres";

/** Numbers of connections, and of requests that wait for one. `open` includes `idle`. */
export type PoolMeasures = Readonly<Record<"open" | "idle" | "waiting", number>>;

/** A SQLite or PostgreSQL database. */
export type Sql<Tables> = {
  readonly engine: Engine;
  /** Reads committed data only. */
  readonly db: Kysely<Tables>;
  /**
   * Runs a long read without blocking other work. `work` sees the database at one point in time.
   * The read ends if its caller leaves. Throws StoreBusy if too many reads are waiting.
   */
  readonly readLong: <Result>(
    work: (db: Kysely<Tables>) => Promise<Result>,
    options: ReadOptions,
  ) => Promise<Result>;
  /**
   * Runs `work` in a transaction. If the promise resolves, all changes are durable. If it rejects,
   * nothing was written, unless the error is OutcomeUnknown. On SQLite, several writes may share a
   * transaction and see each other's changes. On PostgreSQL, `work` may be retried, so it must
   * change nothing but tables.
   */
  readonly write: <Result>(
    work: (db: Kysely<Tables>) => Promise<Result>,
    options?: WriteOptions,
  ) => Promise<Result>;
  /** Returns how many transactions this process has committed. */
  readonly countWrites: () => number;
  /** Returns a number that changes after a commit by any process. */
  readonly readVersion: () => Promise<number>;
  /** Counts connections, for databases with a connection pool. */
  readonly measurePool?: () => PoolMeasures;
  readonly close: () => Promise<void>;
};
