import { sql as raw } from "kysely";
import type { ClockAndRandom, Random } from "../contract/clock.ts";
import { isCurrent, migrate } from "../sql/migrate.ts";
import type { Sql } from "../sql/sql.ts";
import { openSqlite } from "../sql/sqlite.ts";
import { createApprovals, type Approvals } from "./approvals.ts";
import { createCounters, longestWindow_ms, type Counters } from "./counters.ts";
import { createHistory, historyLasts_ms, type History } from "./history.ts";
import { createJobs, type Jobs } from "./jobs.ts";
import { createExpiringValues, type ExpiringValues } from "./expiring-values.ts";
import { createPlans, type Plans } from "./plans.ts";
import { stateDatabase, stateMigrations } from "./schema.ts";
import type { StateTables } from "./tables.ts";

export { isFull, isInDoubt, readOutage } from "../sql/faults.ts";

/** The data that Waypost keeps between calls, for its own server or for a remote one. */
export type State = {
  readonly approvals: Approvals;
  readonly counters: Counters;
  readonly plans: Plans;
  readonly jobs: Jobs;
  readonly history: History;
  readonly kept: ExpiringValues;
  /** Returns a secret that all processes share. The first call creates it. */
  readonly readSecret: (name: string) => Promise<Uint8Array>;
  readonly removeEnded: () => Promise<void>;
  /** Whether the database has the tables of this version of Waypost. Throws if it is unreadable. */
  readonly isCurrent: () => Promise<boolean>;
  readonly countWrites: Sql<StateTables>["countWrites"];
  readonly close: () => Promise<void>;
};

const secretBytes = 32;

export async function openStateFile(
  path: string,
  sources: ClockAndRandom,
  options: { readonly mustExist?: boolean; readonly checksAll?: boolean | undefined } = {},
): Promise<State> {
  const { mustExist = false, ...opening } = options;
  const { applicationId } = stateDatabase;
  const sql = await openSqlite<StateTables>(path, { applicationId, ...opening });
  return openState(sql, sources, mustExist);
}

/** Creates or migrates the tables without opening the state. */
export function migrateState(sql: Sql<StateTables>, mustExist = false): Promise<void> {
  return migrate(sql, stateMigrations, mustExist);
}

/** Opens the state. If `mustExist` is set, a database without tables is an error (NotMigrated). */
export async function openState(
  sql: Sql<StateTables>,
  sources: ClockAndRandom,
  mustExist = false,
): Promise<State> {
  const { clock, random } = sources;
  await migrateState(sql, mustExist).catch(async (error: unknown) => {
    await sql.close();
    throw error;
  });
  const approvals = createApprovals(sql, sources);
  const plans = createPlans(sql, sources);
  return {
    approvals,
    counters: createCounters(sql, clock),
    plans,
    jobs: createJobs(sql, sources),
    history: createHistory(sql, sources),
    kept: createExpiringValues(sql, clock),
    readSecret: (name) => readSecret(sql, name, random),
    removeEnded: async () => {
      const now = clock.now();
      await approvals.removeEnded();
      await deleteOld(sql, "uses", "at", now - longestWindow_ms);
      await deleteOld(sql, "kept_values", "expires_at", now);
      await deleteOld(sql, "changes", "at", now - historyLasts_ms);
      await plans.removeEnded();
    },
    isCurrent: () => isCurrent(sql, stateMigrations),
    countWrites: sql.countWrites,
    close: sql.close,
  };
}

/** Small batches, so that other writes do not wait long. */
const mostAtOnce = 200;

async function deleteOld(
  { db, write }: Sql<StateTables>,
  ...[table, column, time]: readonly ["uses" | "kept_values" | "changes", string, number]
): Promise<void> {
  const [from, at] = [raw.table(table), raw.ref(column)];
  const select = raw<{ at: number }>`select ${at} as at from ${from} where ${at} <= ${time}
    order by ${at} limit ${mostAtOnce}`;
  for (let count = mostAtOnce; count === mostAtOnce;) {
    const { rows } = await select.execute(db);
    const last = rows.at(-1);
    if (last === undefined) return;
    await write((inner) => raw`delete from ${from} where ${at} <= ${last.at}`.execute(inner));
    count = rows.length;
  }
}

async function readSecret(
  { db, write }: Sql<StateTables>,
  name: string,
  random: Random,
): Promise<Uint8Array> {
  const secrets = db.selectFrom("secrets").select("value").where("name", "=", name);
  const known = await secrets.executeTakeFirst();
  if (known !== undefined) return Buffer.from(known.value, "base64url");
  const value = Buffer.from(random.bytes(secretBytes)).toString("base64url");
  // If another process creates the secret first, that process's secret is used.
  await write(async (inner) => {
    const insert = inner.insertInto("secrets").values({ name, value });
    await insert.onConflict((conflict) => conflict.column("name").doNothing()).execute();
  });
  return Buffer.from((await secrets.executeTakeFirstOrThrow()).value, "base64url");
}
