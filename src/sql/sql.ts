import type { Kysely } from "kysely";

/** A caller that waits. Once it has left, the write does not begin any more. */
export type WriteSignal = {
  readonly hasLeft: () => boolean;
  /** How long it still waits; none, or less, where a write that has begun may only just end. */
  readonly left_ms?: () => number;
  /** Called when the write begins. */
  readonly noteWriting?: () => void;
};

export type WriteOptions = {
  readonly signal?: WriteSignal | undefined;
  /** Others may go first: nobody waits for this write, as for a job's or a chore's. */
  readonly isPatient?: boolean | undefined;
  /** Its statements go through whole tables, as a migration's: no time limits them. */
  readonly isLong?: boolean | undefined;
};

/** A caller that waits for something long. */
export type ReadSignal = WriteSignal & {
  /** Has `end` called when the caller leaves. */
  readonly onAbort: (end: () => void) => void;
};

export type ReadOptions = {
  readonly signal: ReadSignal;
  /** Those of one line wait for each other, and lines take turns: a project's. */
  readonly line: string;
};

export type Engine = "sqlite" | "postgres";

/** Connections to a server: those that are open, those of them that are idle, and who waits. */
export type PoolMeasures = Readonly<Record<"open" | "idle" | "waiting", number>>;

/** A database as the rooms above see it, whichever engine is below. */
export type Sql<Tables> = {
  readonly engine: Engine;
  /** Reads what is committed, and never what is still being written. */
  readonly db: Kysely<Tables>;
  /**
   * Reads what may take long without holding up anybody else: `work` sees the store as of one
   * moment. A caller that leaves ends its read, and where too many wait already, it is StoreBusy.
   */
  readonly readLong: <Result>(
    work: (db: Kysely<Tables>) => Promise<Result>,
    options: ReadOptions,
  ) => Promise<Result>;
  /**
   * Runs `work` so that all of it is durable when the promise resolves, or none of it happened.
   * While it waits for its turn, it is taken back if its caller leaves. A SQLite file may run it in
   * one transaction with others, and it sees what they have written; PostgreSQL may run it again,
   * so it changes nothing but the tables.
   */
  readonly write: <Result>(
    work: (db: Kysely<Tables>) => Promise<Result>,
    options?: WriteOptions,
  ) => Promise<Result>;
  /** How many transactions this process has committed. */
  readonly countWrites: () => number;
  /** A number that is another one after any process has committed something. */
  readonly readVersion: () => Promise<number>;
  /** Of an engine that has more than the connections of its own. */
  readonly measurePool?: () => PoolMeasures;
  readonly close: () => Promise<void>;
};
