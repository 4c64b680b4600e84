import { sql, type Kysely } from "kysely";
import { readKnown } from "../sql/migrate.ts";
import type { ReadSignal } from "../sql/sql.ts";
import type { CopiedDatabase } from "./copied-database.ts";
import { planTables, type TablePlan } from "./table-plan.ts";

/** A database as it was at one moment, whoever writes to it meanwhile. */
export type Snapshot = {
  readonly database: CopiedDatabase;
  readonly db: Kysely<unknown>;
  /** The migrations that are done; without them there are no tables. */
  readonly migrations: readonly string[];
  readonly tables: readonly TablePlan[];
};

type Held = {
  readonly signal: ReadSignal;
  /** What each read begins with, before the moment that it sees. */
  readonly begin?: (db: Kysely<unknown>) => Promise<void>;
};

/**
 * Holds all databases as they are, one right after the other. The state comes first: what it calls
 * done was in the store before, so a copy of the store has it; a write between the two is one that
 * the state has begun, and a resumed job looks for it.
 */
export function withSnapshots<Result>(
  databases: readonly CopiedDatabase[],
  held: Held,
  work: (snapshots: readonly Snapshot[]) => Promise<Result>,
  before?: Snapshot,
): Promise<Result> {
  const [database, ...others] = databases;
  if (database === undefined) return work([]);
  const { signal, begin } = held;
  const go = async (db: Kysely<unknown>) => {
    // The first statement that reads is the moment.
    const snapshot = await describe(database, db);
    return withSnapshots(others, held, (rest) => work([snapshot, ...rest]), snapshot);
  };
  // An engine that holds both sees both as of the same moment.
  if (before?.database.sql === database.sql) return go(before.db);
  const read = async (db: Kysely<unknown>) => {
    await begin?.(db);
    return go(db);
  };
  return database.sql.readLong(read, { signal, line: "copy" });
}

async function describe(database: CopiedDatabase, db: Kysely<unknown>): Promise<Snapshot> {
  const {
    copied,
    sql: { engine },
  } = database;
  const migrations = await readKnown({ db, engine }, copied.migrations);
  const tables = migrations.length === 0 ? [] : await planTables(copied);
  return { database, db, migrations, tables };
}

export async function countRows(snapshots: readonly Snapshot[]): Promise<number> {
  let sum = 0;
  for (const { db, tables } of snapshots) {
    for (const { table } of tables) {
      const { rows } = await sql<{ rows: number }>`
        select count(*) as "rows" from ${sql.table(table.name)}
      `.execute(db);
      sum += rows[0]?.rows ?? 0;
    }
  }
  return sum;
}
