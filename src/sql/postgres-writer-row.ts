import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { OutcomeUnknown } from "./faults.ts";
import { explainHeld, isLost, runWithTable } from "./postgres-faults.ts";
import {
  longestStatement_ms,
  type PostgresConnection,
  type PostgresPool,
} from "./postgres-pool.ts";
import type { Ran } from "./run-statements.ts";

/**
 * Each process has a row in `waypost_writers`, and each transaction writes its own number there,
 * first of all. So every other process sees that something was committed, by rows that no two
 * processes write (`readVersion`). And whoever lost the answer to a commit looks there: the row is
 * locked until that transaction is over, so what is found then is final. PostgreSQL's own
 * `pg_xact_status` would not do: a standby that takes over may give the same number to another
 * transaction.
 */
export type WriterRow = {
  /**
   * A connection for the next transaction. First it is found what nobody could be told of the last
   * one: its number gives way to the next.
   */
  readonly take: () => Promise<PostgresConnection>;
  /** Begins a transaction; answers its number. */
  readonly begin: (connection: PostgresConnection) => Promise<number>;
  /**
   * Whether the transaction of that number was committed, whose answer was lost. Where that cannot
   * be found in time, it is OutcomeUnknown, and can be asked for later, unless nobody knows any
   * more.
   */
  readonly isCommitted: (number: number, cause: unknown) => Promise<boolean>;
  /** Takes away what processes of long ago have left. */
  readonly tidy: () => Promise<void>;
};

/** A write's caller may have less time left (postgres-writes.ts). */
export const longestLock_ms = 5_000;
/** The server ends a transaction that says nothing for so long. */
export const longestPause_ms = 30_000;
/** How long the server is asked what became of a commit, and how often. */
const longestLook_ms = 8_000;
const mostPause_ms = 100;
const kept_ms = 60 * 60 * 1000;
/** Of the server alone: one whose own clock is ahead would take living processes' rows away. */
const now_ms = "(extract(epoch from now()) * 1000)::bigint";
/** Well before the row of a process that cannot write is taken away by another one. */
const longestDoubt_ms = kept_ms / 2;

/** No session state: each transaction says it for itself. */
const listSettings = (lock_ms: number) => [
  `set local statement_timeout = ${longestStatement_ms}`,
  `set local lock_timeout = ${lock_ms}`,
  `set local idle_in_transaction_session_timeout = ${longestPause_ms}`,
];

/** Going through a whole table, it would be in the way of whoever writes any row of that. */
const noScan = "set local enable_seqscan = off";

const lost = "the answer to a commit was lost";

const createTable = `
  create table if not exists waypost_writers (
    id text primary key,
    number bigint not null,
    at bigint not null
  ) with (fillfactor = 50)
`;

/**
 * `hasCommitted`: whether this process knows of a commit, by which its row was surely there.
 * `lock_ms`: how long somebody else's lock is waited for.
 */
export function createWriterRow(
  pool: PostgresPool,
  hasCommitted: () => boolean,
  lock_ms = longestLock_ms,
): WriterRow {
  const id = randomUUID();
  const settings = listSettings(lock_ms);
  const beginWrite = ["begin isolation level serializable", ...settings, noScan];
  const runOnce = (...statements: readonly string[]) =>
    runAlone(pool, [...settings, ...statements]);
  let number = 0;
  /** Of the transaction whose end is not known. */
  let lookUp: (() => Promise<unknown>) | undefined;

  const mark = (own: number) => writeRow(id, own, "number = excluded.number,");

  /** Undefined where nobody can tell: who has taken the row away took what it told with it. */
  async function findEnd(own: number): Promise<boolean | undefined> {
    const { rows } = await runOnce(writeRow(id, 0, ""));
    const found = rows[0]?.["number"];
    if (found === 0 && hasCommitted()) return undefined;
    return found === own;
  }

  async function settle(): Promise<void> {
    await lookUp?.();
    lookUp = undefined;
  }

  return {
    take: async () => {
      await settle();
      return pool.take();
    },
    begin: async (connection) => {
      number += 1;
      const own = number;
      const statements = [...beginWrite, mark(own)];
      const make = async () => {
        await connection.runAll(["rollback"]);
        await connection.runAll([createTable]);
      };
      await runWithTable(() => connection.runAll(statements), make).catch((error: unknown) => {
        throw explainHeld(error);
      });
      return own;
    },
    isCommitted: async (own, cause) => {
      const started = performance.now();
      while (performance.now() - started < longestLook_ms) {
        const found = await findEnd(own).catch(() => "away" as const);
        if (found === undefined) throw new OutcomeUnknown(lost, { cause });
        if (found !== "away") return found;
        await setTimeout(Math.random() * mostPause_ms);
      }
      const later = createLookUp(() => findEnd(own));
      lookUp = later;
      throw new OutcomeUnknown(lost, { cause, lookUp: later });
    },
    tidy: async () => {
      await settle();
      number += 1;
      const old = `delete from waypost_writers where at < ${now_ms} - ${kept_ms}`;
      // Its own number with it, so that no row goes without another one that tells of it.
      await runOnce(mark(number), old);
    },
  };
}

/** The id is ours, and the others are numbers: nothing of them needs quoting. */
function writeRow(id: string, own: number, changes: string): string {
  return `
    insert into waypost_writers (id, number, at) values ('${id}', ${own}, ${now_ms})
    on conflict (id) do update set ${changes} at = excluded.at returning number
  `;
}

/** Once it was answered, it answers the same: later transactions have other numbers. */
function createLookUp(
  find: () => Promise<boolean | undefined>,
): () => Promise<boolean | undefined> {
  const begun = performance.now();
  let looking: Promise<boolean | undefined> | undefined;
  const look = async () => {
    const isDone = await find();
    // Another process may have taken the row away by now, which says nothing.
    return performance.now() - begun < longestDoubt_ms ? isDone : undefined;
  };
  return () =>
    (looking ??= look().catch((error: unknown) => {
      looking = undefined;
      throw error;
    }));
}

/** In a transaction of their own; what the last one found. */
async function runAlone(pool: PostgresPool, statements: readonly string[]): Promise<Ran> {
  const connection = await pool.take();
  try {
    const found = await connection.runAll(["begin", ...statements]);
    await connection.commit();
    connection.giveBack();
    return found;
  } catch (error) {
    await takeBack(connection, error);
    throw explainHeld(error);
  }
}

/** Ends a transaction that failed, and gives its connection back. */
export async function takeBack(connection: PostgresConnection, error: unknown): Promise<void> {
  if (isLost(error)) {
    connection.giveBack(error);
    return;
  }
  try {
    await connection.runAll(["rollback"]);
    connection.giveBack();
  } catch (fault) {
    connection.giveBack(fault);
  }
}
