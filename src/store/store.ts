import type { Clock, SetAlarm } from "../contract/clock.ts";
import { readOutage } from "../sql/faults.ts";
import { isCurrent, migrate, type Migrations } from "../sql/migrate.ts";
import { readEngine } from "../sql/open-kysely.ts";
import type { Sql } from "../sql/sql.ts";
import { queueExpired } from "./bin.ts";
import { runChore, runChores } from "./chores.ts";
import { dropEndedVisits } from "./deferred-visits.ts";
import { tidyOutboxes } from "./deliveries.ts";
import { initialTables } from "./schema/initial-tables.ts";
import type { ChoreTable, Tables } from "./tables.ts";
import type { Db } from "./tenant.ts";

export { Duplicate, isFull, OutcomeUnknown, readOutage, StoreBusy } from "../sql/faults.ts";

/** The service's data: the tables, what is remembered about them, and the work behind them. */
export type Store = Omit<Sql<Tables>, "engine"> & {
  /** How many links match each filter, by `listLinks`. */
  readonly counts: Map<string, number>;
  /** Whether its tables are those of this version; throws where it cannot be read. */
  readonly isCurrent: () => Promise<boolean>;
  /**
   * Looks for chores until the store is closed: this process's, what others left behind, and what
   * is too old in a bin.
   */
  readonly watchChores: (clock: Clock, onError: (error: unknown) => void) => void;
  /** Works through the chores that are queued now. */
  readonly finishChores: () => Promise<void>;
  /** Works at one chore while its caller waits; what is left after that time is done later. */
  readonly finishChore: (chore: ChoreTable, most_ms: number) => Promise<void>;
};

export const storeMigrations: Migrations = { table: "waypost_migrations", list: [initialTables] };
const watchEvery_ms = 1000;
/** How long something may stay in a bin after its time. */
const sweepEvery_ms = 60 * 60 * 1000;
/** How long ended visits, and events beyond the outbox's bounds, may stay. */
const forgetEvery_ms = 60_000;

/** Throws NotMigrated where it is a mere look and there are no tables. */
export async function openStore(
  sql: Sql<Tables>,
  setAlarm: SetAlarm,
  isLook = false,
): Promise<Store> {
  await migrate(sql, storeMigrations, isLook).catch(async (error: unknown) => {
    await sql.close();
    throw error;
  });
  const closing = new AbortController();
  let watching: Promise<void> | undefined;
  return {
    ...sql,
    counts: new Map(),
    isCurrent: () => isCurrent(sql, storeMigrations),
    watchChores: (clock, onError) => {
      watching ??= watch(sql, setAlarm, { clock, signal: closing.signal, onError });
    },
    finishChores: () =>
      runChores(sql, closing.signal, (error) => {
        throw error;
      }),
    finishChore: async (chore, most_ms) => {
      const late = new AbortController();
      const stopAlarm = setAlarm(most_ms, () => late.abort());
      const signal = AbortSignal.any([closing.signal, late.signal]);
      // An outage is no reason to call the deletion failed: the chore is written down.
      await runChore(sql, chore, signal).catch(ignoreOutage).finally(stopAlarm);
    },
    close: async () => {
      closing.abort();
      await watching;
      await sql.close();
    },
  };
}

type Watching = {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
};

async function watch(
  sql: Sql<Tables>,
  setAlarm: SetAlarm,
  { clock, signal, onError }: Watching,
): Promise<void> {
  // Another process holds the store, or it is away: the next turn does it.
  const noteFault = (error: unknown) => {
    if (readOutage(error) === undefined) onError(error);
  };
  let sweptAt = -Infinity;
  let forgotAt = -Infinity;
  while (!signal.aborted) {
    if (clock.monotonic() - sweptAt >= sweepEvery_ms) {
      sweptAt = clock.monotonic();
      await queueExpired(sql, clock.now()).catch(onError);
    }
    if (clock.monotonic() - forgotAt >= forgetEvery_ms) {
      forgotAt = clock.monotonic();
      await dropEndedVisits(sql, clock.now()).catch(onError);
      await tidyOutboxes(sql, clock.now()).catch(noteFault);
    }
    await runChores(sql, signal, onError);
    await sleep(setAlarm, watchEvery_ms, signal);
  }
}

/** Resolves when the time is over, or at once when the signal is aborted. */
async function sleep(setAlarm: SetAlarm, milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const end = () => {
      cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const cancel = setAlarm(milliseconds, end);
    signal.addEventListener("abort", end);
  });
}

function ignoreOutage(error: unknown): void {
  if (readOutage(error) === undefined) throw error;
}

/** The engine with its version: `SQLite 3.51.3`. */
export async function nameEngine(db: Db): Promise<string> {
  const isFile = readEngine(db) === "sqlite";
  const { version } = await db
    .selectNoFrom((build) =>
      (isFile
        ? build.fn<string>("sqlite_version")
        : build.fn<string>("current_setting", [build.val("server_version")])
      ).as("version"),
    )
    .executeTakeFirstOrThrow();
  return `${isFile ? "SQLite" : "PostgreSQL"} ${version}`.trim();
}
