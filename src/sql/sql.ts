import type { Kysely } from "kysely";

/** The common interface to SQLite and PostgreSQL databases. */

/** A waiting caller. If the caller leaves before the write starts, the write is skipped. */
export type WriteSignal = {
  readonly hasLeft: () => boolean;
  /**
   * Returns the remaining time. At zero or less, a started write may finish, but no other may
   * start.
   */
  readonly left_ms?: () => number;
  /** Called when the write starts. */
  readonly noteWriting?: () => void;
};

export type WriteOptions = {
  readonly signal?: WriteSignal | undefined;
  /** True if other writes go first, because no one waits for this one. */
  readonly isPatient?: boolean | undefined;
  /** True for statements that may read whole tables, as in migrations. They have no time limit. */
  readonly isLong?: boolean | undefined;
};

/** A caller that waits for a long read. */
export type ReadSignal = WriteSignal & {
  /** Calls `end` when the caller leaves. */
  readonly onAbort: (end: () => void) => void;
};

export type ReadOptions = {
  readonly signal: ReadSignal;
  /**
   * Identifies the queue of the read, usually the project's. Reads of one queue run one after the
   * other.
   */
  readonly line: string;
};

export type Engine = "sqlite" | "postgres";

/** The numbers of open connections, of idle ones among them, and of waiting requests. */
export type PoolMeasures = Readonly<Record<"open" | "idle" | "waiting", number>>;

/** A database, independent of its engine. */
export type Sql<Tables> = {
  readonly engine: Engine;
  /** Reads only committed data. */
  readonly db: Kysely<Tables>;
  /**
   * Runs a long read without blocking other work. `work` sees the database at one point in time. If
   * the caller leaves, the read ends. Throws StoreBusy if too many reads are waiting.
   */
  readonly readLong: <Result>(
    work: (db: Kysely<Tables>) => Promise<Result>,
    options: ReadOptions,
  ) => Promise<Result>;
  /**
   * Runs `work` in a transaction. When the promise resolves, all changes are durable. If it
   * rejects, nothing was written, unless the error is OutcomeUnknown. A waiting write is dropped if
   * its caller leaves. On SQLite, several writes can share a transaction and see each other's
   * changes. On PostgreSQL, `work` may run again, so it must change nothing but tables.
   */
  readonly write: <Result>(
    work: (db: Kysely<Tables>) => Promise<Result>,
    options?: WriteOptions,
  ) => Promise<Result>;
  /** Returns the number of transactions that this process has committed. */
  readonly countWrites: () => number;
  /** Returns a number that changes after any process has committed a transaction. */
  readonly readVersion: () => Promise<number>;
  /** Returns the numbers of connections, only for engines with a pool. */
  readonly measurePool?: () => PoolMeasures;
  readonly close: () => Promise<void>;
};
