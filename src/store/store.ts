import { setTimeout } from "node:timers/promises";
import { runChore, runChores } from "./chores.ts";
import { createCounts, type Counts } from "./counts.ts";
import { init } from "./migrations/001-init.ts";
import { pageTemplates } from "./migrations/002-page-templates.ts";
import { clicks } from "./migrations/003-clicks.ts";
import { StoreBusy } from "../sql/faults.ts";
import { migrate } from "../sql/migrate.ts";
import type { Sql } from "../sql/sql.ts";
import type { ChoreTable, Tables } from "./tables.ts";

export { Duplicate, isFull, StoreBusy } from "../sql/faults.ts";

/** The service's data: the tables, what is remembered about them, and the work behind them. */
export type Store = {
  readonly db: Sql<Tables>["db"];
  readonly write: Sql<Tables>["write"];
  readonly countWrites: Sql<Tables>["countWrites"];
  readonly readVersion: Sql<Tables>["readVersion"];
  readonly counts: Counts;
  readonly isReadable: () => Promise<boolean>;
  /** Looks for chores until the store is closed: this process's and those others left behind. */
  readonly watchChores: (onError: (error: unknown) => void) => void;
  /** Works through the chores that are queued now. */
  readonly finishChores: () => Promise<void>;
  /** Works at one chore now, for a caller who waits for it so long; the rest is done later. */
  readonly finishChore: (chore: ChoreTable, patience_ms: number) => Promise<void>;
  readonly close: () => Promise<void>;
};

const migrations = [init, pageTemplates, clicks];
const watchEvery_ms = 1000;

export async function openStore(sql: Sql<Tables>): Promise<Store> {
  await migrate(sql, migrations).catch(async (error: unknown) => {
    await sql.close();
    throw error;
  });
  const closing = new AbortController();
  let watching: Promise<void> | undefined;
  return {
    db: sql.db,
    write: sql.write,
    countWrites: sql.countWrites,
    readVersion: sql.readVersion,
    counts: createCounts(),
    isReadable: () =>
      sql.db
        .selectFrom("tallies")
        .select("project_id")
        .limit(1)
        .execute()
        .then(
          () => true,
          () => false,
        ),
    watchChores: (onError) => {
      watching ??= watch(sql, closing.signal, onError);
    },
    finishChores: () =>
      runChores(sql, closing.signal, (error) => {
        throw error;
      }),
    finishChore: (chore, patience_ms) => {
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(patience_ms)]);
      // A busy store is no reason to call the deletion failed: the chore is written down.
      return runChore(sql, chore, signal).catch(ignoreBusy);
    },
    close: async () => {
      closing.abort();
      await watching;
      await sql.close();
    },
  };
}

async function watch(
  sql: Sql<Tables>,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> {
  while (!signal.aborted) {
    await runChores(sql, signal, onError);
    await setTimeout(watchEvery_ms, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

function ignoreBusy(error: unknown): void {
  if (!(error instanceof StoreBusy)) throw error;
}
