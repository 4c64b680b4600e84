import type { Kysely } from "kysely";

/** The signal of a caller that waits. Once it is aborted, the write does not begin any more. */
export type WriteSignal = { readonly aborted: boolean };

/** A database as the rooms above see it, whichever engine is below. */
export type Sql<Tables> = {
  readonly engine: "sqlite" | "postgres";
  /** Reads what is committed, and never what is still being written. */
  readonly db: Kysely<Tables>;
  /**
   * Runs `work` as one transaction: all of it is durable when the promise resolves, or none of it
   * happened. While it waits in the queue, an aborted signal takes it back.
   */
  readonly write: <Result>(
    work: (db: Kysely<Tables>) => Promise<Result>,
    options?: { readonly signal?: WriteSignal | undefined },
  ) => Promise<Result>;
  /** How many transactions this process has committed. */
  readonly countWrites: () => number;
  /** A number that is another one after any process has committed something. */
  readonly readVersion: () => Promise<number>;
  readonly close: () => Promise<void>;
};
