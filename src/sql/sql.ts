import type { Kysely } from "kysely";

/**
 * The interface to databases, the same for SQLite and PostgreSQL.
 *
 * A `WriteSignal` is a caller that waits. Once it has left, its write does not start.
 */
export type WriteSignal = {
  readonly hasLeft: () => boolean;
  /** The remaining time. At zero or less, a started write may finish but nothing may start. */
  readonly left_ms?: () => number;
  /** Called when the write starts. */
  readonly noteWriting?: () => void;
};

export type WriteOptions = {
  readonly signal?: WriteSignal | undefined;
  /** Other writes go first, because no one waits for this one. */
  readonly isPatient?: boolean | undefined;
  /** The statements may go through whole tables, as a migration's do, so no time limit applies. */
  readonly isLong?: boolean | undefined;
};

/** A caller that waits for a long read. */
export type ReadSignal = WriteSignal & {
  /** Calls `end` when the caller leaves. */
  readonly onAbort: (end: () => void) => void;
};

export type ReadOptions = {
  readonly signal: ReadSignal;
  /** Reads of one line, usually of one project, wait for each other, and lines take turns. */
  readonly line: string;
};

export type Engine = "sqlite" | "postgres";

/** The connections to a server: open ones, idle ones among them, and waiting requests. */
export type PoolMeasures = Readonly<Record<"open" | "idle" | "waiting", number>>;

/** A database, independent of its engine. */
export type Sql<Tables> = {
  readonly engine: Engine;
  /** Reads committed data only. */
  readonly db: Kysely<Tables>;
  /**
   * Runs a long read without blocking others. `work` sees the database as of one moment. If the
   * caller leaves, the read ends. If too many reads wait already, it throws StoreBusy.
   */
  readonly readLong: <Result>(
    work: (db: Kysely<Tables>) => Promise<Result>,
    options: ReadOptions,
  ) => Promise<Result>;
  /**
   * Runs `work` in a transaction. When the promise resolves, all of it is durable. If it rejects,
   * nothing happened, unless the error is OutcomeUnknown. A write that waits for its turn is
   * dropped if its caller leaves. On SQLite it may share a transaction with other writes and see
   * their changes. On PostgreSQL it may run again, so it must change nothing but tables.
   */
  readonly write: <Result>(
    work: (db: Kysely<Tables>) => Promise<Result>,
    options?: WriteOptions,
  ) => Promise<Result>;
  /** How many transactions this process has committed. */
  readonly countWrites: () => number;
  /** A number that changes after any process has committed something. */
  readonly readVersion: () => Promise<number>;
  /** Only for engines with a pool of connections. */
  readonly measurePool?: () => PoolMeasures;
  readonly close: () => Promise<void>;
};
