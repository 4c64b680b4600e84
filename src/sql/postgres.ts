import { setTimeout } from "node:timers/promises";
import { sql, type Kysely, type KyselyPlugin, type QueryExecutorProvider } from "kysely";
import { describeDatabase } from "../network/database-url.ts";
import { createFairQueue } from "./fair-queue.ts";
import { requireWaiting, OutcomeUnknown, StoreBusy, StoreUnusable } from "./faults.ts";
import {
  explainOpening,
  explainRights,
  findOpeningFault,
  readFacts,
  isBroken,
  isLost,
  isRepeatable,
  translatePostgresFault,
  type DatabaseFacts,
} from "./postgres-faults.ts";
import { openPostgresPool, type PostgresPool } from "./postgres-pool.ts";
import type {
  PoolMeasures,
  ReadOptions,
  ReadSignal,
  Sql,
  WriteOptions,
  WriteSignal,
} from "./sql.ts";

/** Opens PostgreSQL databases, with limits on connections and on the duration of statements. */

/** Writes and long reads have their own connections, so that short reads need not wait for them. */
const mostConnections = { reads: 7, scans: 2, writes: 1 };
/** The maximum number of waiting reads per project. More reads would have to wait too long. */
const mostWaitingScans = 100;
const longestStatement_ms = 10_000;
const longestScan_ms = 60_000;
const scanSettings = {
  statement_timeout: longestScan_ms,
  /** In kB. The visits of 100,000 links could not be grouped within the default of 4 MB. */
  work_mem: 32 * 1024,
  /** Zero, because on two cores, parallel workers slow down the scan and all other queries. */
  max_parallel_workers_per_gather: 0,
};
/**
 * Long, because a migration may read tables with millions of rows, and other processes wait for it.
 */
const longestMigration_ms = 60 * 60_000;
const longestLock_ms = 5_000;
/** How long a transaction may be idle before the server ends it. */
const longestPause_ms = 30_000;
/** How long the client waits after the server's own timeout before it closes the connection. */
const patience_ms = 2_000;

/** How many times a write is retried if its connection is lost before the commit. */
const mostBreaks = 5;
/**
 * How long a write is retried after its first serialization failure. A limited number of retries
 * would be unfair, because one of two busy processes may fail much more often.
 */
const longestRepeats_ms = 5_000;
const mostBackoff_ms = 100;

/**
 * Opens a PostgreSQL database, or one with the same protocol. If it contains another program's
 * tables, throws without changing anything.
 */
export async function openPostgres<Tables>(url: string): Promise<Sql<Tables>> {
  const place = describeDatabase(url);
  const known: { facts?: DatabaseFacts } = {};
  const explain = (error: unknown) =>
    translatePostgresFault(known.facts ? explainRights(error, known.facts, place) : error, place);
  const reads = openPostgresPool(url, mostConnections.reads, explain);
  const scans = openPostgresPool(url, mostConnections.scans, explain);
  const writes = openPostgresPool(url, mostConnections.writes, explain);
  const pools = [reads, scans, writes];
  const db = reads.openKysely<Tables>(longestStatement_ms);
  const scanning = scans.openKysely<Tables>(longestScan_ms + patience_ms);
  const scanQueue = createFairQueue(mostConnections.scans, mostWaitingScans);
  const { write, countWrites, finish } = createWrites<Tables>(writes);
  known.facts = await requireUsable(db, url).catch(async (error: unknown) => {
    await reads.close();
    throw error;
  });

  return {
    engine: "postgres",
    db,
    readLong: (work, options) => scanQueue.run(() => scan(scanning, work, options), options),
    write,
    countWrites,
    measurePool: () => addMeasures(pools),
    readVersion: createVersionReader(db),
    close: async () => {
      await finish();
      scanQueue.refuseWaiting();
      await Promise.all(pools.map((pool) => pool.close()));
    },
  };
}

async function requireUsable<Tables>(db: Kysely<Tables>, url: string): Promise<DatabaseFacts> {
  const place = describeDatabase(url);
  const facts = await readFacts(db).catch((cause: unknown) => {
    throw new StoreUnusable(`${place} cannot be opened: ${explainOpening(cause, url)}`, { cause });
  });
  const fault = findOpeningFault(facts);
  if (fault !== undefined) throw new StoreUnusable(`${place} ${fault}`);
  return facts;
}

/** Runs `work` in a transaction, so that all its reads see the database at one point in time. */
function scan<Tables, Result>(
  scanning: Kysely<Tables>,
  work: (db: Kysely<Tables>) => Promise<Result>,
  { signal }: ReadOptions,
): Promise<Result> {
  return scanning.connection().execute(async (db) => {
    try {
      await begin(db, "repeatable read read only", scanSettings);
      return await work(db.withPlugin(stopWithCaller(signal)));
    } finally {
      await rollback(db);
    }
  });
}

/** Rejects further statements of a read once its caller no longer waits. */
function stopWithCaller(signal: ReadSignal): KyselyPlugin {
  return {
    transformQuery: ({ node }) => {
      requireWaiting(signal);
      return node;
    },
    transformResult: async ({ result }) => result,
  };
}

/**
 * Runs the writes of this process one after the other. Nearly every write updates its project's
 * counts, so concurrent writes would only conflict. Writes of other processes run in between.
 */
function createWrites<Tables>(pool: PostgresPool) {
  const queue = createFairQueue(mostConnections.writes);
  const writing = pool.openKysely<Tables>(longestStatement_ms + patience_ms);
  const migrating = pool.openKysely<Tables>(longestMigration_ms + patience_ms);
  let commits = 0;

  function attempt<Result>(
    work: (db: Kysely<Tables>) => Promise<Result>,
    { signal, isLong = false }: WriteOptions,
  ): Promise<Result> {
    return (isLong ? migrating : writing).connection().execute(async (db) => {
      const limits = {
        statement_timeout: isLong ? longestMigration_ms : longestStatement_ms,
        lock_timeout: isLong ? longestMigration_ms : findLongestLock(signal),
        idle_in_transaction_session_timeout: longestPause_ms,
      };
      let result: Result;
      try {
        await begin(db, "serializable", limits);
        requireWaiting(signal);
        signal?.noteWriting?.();
        result = await work(db);
      } catch (error) {
        await rollback(db);
        throw error;
      }
      await sql`commit`.execute(db).catch((error: unknown) => {
        if (!isLost(error)) throw error;
        throw new OutcomeUnknown("the answer to a commit was lost", { cause: error });
      });
      // Count the commit before the caller gets its result. Otherwise, a caller that has its result
      // could still read old data from a cache.
      commits += 1;
      return result;
    });
  }

  return {
    write: <Result>(
      work: (db: Kysely<Tables>) => Promise<Result>,
      options: WriteOptions = {},
    ): Promise<Result> => {
      const { signal, isPatient = false } = options;
      const repeat = () => repeatWrite(() => attempt(work, options), signal);
      return queue.run(repeat, { line: isPatient ? "patient" : "hurried" });
    },
    countWrites: () => commits,
    finish: queue.finish,
  };
}

/** Returns the lock timeout, which is at most the time that the caller will still wait. */
function findLongestLock(signal: WriteSignal | undefined): number {
  const left_ms = signal?.left_ms?.() ?? longestLock_ms;
  // Zero would disable the timeout.
  return Math.min(Math.max(Math.ceil(left_ms), 1), longestLock_ms);
}

async function repeatWrite<Result>(
  attempt: () => Promise<Result>,
  signal: WriteSignal | undefined,
): Promise<Result> {
  let firstFailed: number | undefined;
  for (let tries = 1, breaks = 0; ; tries += 1) {
    requireWaiting(signal);
    try {
      return await attempt();
    } catch (error) {
      if (isBroken(error)) {
        breaks += 1;
        if (breaks > mostBreaks) throw error;
      } else {
        if (!isRepeatable(error)) throw error;
        firstFailed ??= performance.now();
        if (performance.now() - firstFailed > longestRepeats_ms) {
          throw new StoreBusy("others write the same", { cause: error });
        }
      }
    }
    await setTimeout(Math.random() * Math.min(2 ** tries, mostBackoff_ms));
  }
}

/**
 * Begins a transaction with its settings in one message. The settings are local to the transaction,
 * because PgBouncer may use the connection for other clients.
 */
async function begin(
  db: QueryExecutorProvider,
  mode: string,
  settings: Readonly<Record<string, number>>,
): Promise<void> {
  const limits = Object.entries(settings).map(([name, value]) => `set local ${name} = ${value}`);
  await sql.raw([`begin isolation level ${mode}`, ...limits].join("; ")).execute(db);
}

/**
 * Rolls back. Errors are ignored, because the server rolls back itself when a connection breaks.
 */
async function rollback(db: QueryExecutorProvider): Promise<void> {
  await sql`rollback`.execute(db).catch(() => undefined);
}

/**
 * Returns a function that reads a number. The number changes after every commit. It also changes
 * when another server takes over, even if that server reports the same snapshot.
 */
function createVersionReader(db: QueryExecutorProvider): () => Promise<number> {
  let known = "";
  let version = 0;
  return async () => {
    const { rows } = await selectVersion.execute(db);
    const text = rows[0]?.text ?? "";
    if (text !== known) version += 1;
    known = text;
    return version;
  };
}

const selectVersion = sql<{ readonly text: string }>`
  select pg_current_snapshot()::text || ' ' || pg_postmaster_start_time() as text
`;

function addMeasures(pools: readonly PostgresPool[]): PoolMeasures {
  const all = pools.map((pool) => pool.measure());
  const sum = (name: keyof PoolMeasures) => all.reduce((total, one) => total + one[name], 0);
  return { open: sum("open"), idle: sum("idle"), waiting: sum("waiting") };
}
