import type { ClockAndRandom, Random } from "../contract/clock.ts";
import { createInitialMigration, isCurrent, migrate, type Migrations } from "../sql/migrate.ts";
import type { Sql } from "../sql/sql.ts";
import { hasLog } from "../sql/sqlite-file.ts";
import { openSqlite, refuseOtherVersion } from "../sql/sqlite.ts";
import { createApprovals, type Approvals } from "./approvals.ts";
import { createSharedBudgetLedger, type SharedBudgetLedger } from "./budget-ledger.ts";
import { createConsoleSessions, type ConsoleSessions } from "./console-sessions.ts";
import { createExports, type Exports } from "./exports.ts";
import { createHiddenForms, type HiddenForms } from "./hidden-forms.ts";
import { createHostBudget, type HostBudget } from "./host-budget.ts";
import { createHistory, type History } from "./history.ts";
import { createJobSpacing, type JobSpacing } from "./job-spacing.ts";
import { createJobs, type Jobs } from "./jobs.ts";
import { createKnownAccess, type KnownAccess } from "./known-access.ts";
import { createNotices, type Notices } from "./notices.ts";
import { createOverwrites, type Overwrites } from "./overwrites.ts";
import { createPinTries, type PinTries } from "./pin-tries.ts";
import { createPlans, type Plans } from "./plans.ts";
import { createPreviews, type Previews } from "./previews.ts";
import { makeHistoryTables } from "./schema/history-tables.ts";
import { makeKeyTables } from "./schema/key-tables.ts";
import { makePlanTables } from "./schema/plan-tables.ts";
import { createSignInTries, type SignInTries } from "./sign-in-tries.ts";
import type { StateTables } from "./tables.ts";

export { isFull, isInDoubt, readOutage } from "../sql/faults.ts";

/** What Waypost itself remembers, in embedded and remote mode alike. */
export type State = {
  readonly approvals: Approvals;
  readonly pinTries: PinTries;
  readonly overwrites: Overwrites;
  readonly plans: Plans;
  readonly jobs: Jobs;
  readonly budgetLedger: SharedBudgetLedger;
  readonly hostBudget: HostBudget;
  readonly jobSpacing: JobSpacing;
  readonly exports: Exports;
  readonly history: History;
  readonly knownAccess: KnownAccess;
  readonly hiddenForms: HiddenForms;
  readonly previews: Previews;
  readonly consoleSessions: ConsoleSessions;
  readonly signInTries: SignInTries;
  readonly notices: Notices;
  /** A secret that every process of this folder or database shares, made when first asked for. */
  readonly readSecret: (name: string) => Promise<Uint8Array>;
  /** Whether its tables are those of this version; throws where it cannot be read. */
  readonly isCurrent: () => Promise<boolean>;
  readonly countWrites: Sql<StateTables>["countWrites"];
  readonly close: () => Promise<void>;
};

/** "WAYS" in the file's header. */
export const applicationId = 0x57415953;
/** All tables of the state. */
const initialTables = createInitialMigration((engine) => [
  ...makeKeyTables(engine),
  ...makePlanTables(engine),
  ...makeHistoryTables(engine),
]);
/** In a PostgreSQL database, the store's migrations have a table of their own. */
export const stateMigrations: Migrations = { table: "state_migrations", list: [initialTables] };
const secretBytes = 32;
/** What is written here is seldom read again. */
const cache_mb = 8;

type StateFileOptions = {
  readonly isLook?: boolean;
  readonly checksAll?: boolean | undefined;
};

/** In a file of its own. */
export async function openStateFile(
  path: string,
  given: ClockAndRandom,
  { isLook = false, ...opening }: StateFileOptions = {},
): Promise<State> {
  if (hasLog(path)) await refuseOtherVersion(path, applicationId, stateMigrations);
  const sql = await openSqlite<StateTables>(path, { applicationId, cache_mb, ...opening });
  return openState(sql, given, isLook);
}

/** Brings the tables up to date, and opens nothing else. */
export function migrateState(sql: Sql<StateTables>, isLook = false): Promise<void> {
  return migrate(sql, stateMigrations, isLook);
}

/** Throws NotMigrated where it is a mere look and there are no tables. */
export async function openState(
  sql: Sql<StateTables>,
  given: ClockAndRandom,
  isLook = false,
): Promise<State> {
  const { clock, random } = given;
  await migrateState(sql, isLook).catch(async (error: unknown) => {
    await sql.close();
    throw error;
  });
  return {
    approvals: createApprovals(sql, given),
    pinTries: createPinTries(sql, clock),
    overwrites: createOverwrites(sql, clock),
    plans: createPlans(sql, given),
    jobs: createJobs(sql, given),
    budgetLedger: createSharedBudgetLedger(sql, clock),
    hostBudget: createHostBudget(sql, clock),
    jobSpacing: createJobSpacing(sql, clock),
    exports: createExports(sql, given),
    history: createHistory(sql, given),
    knownAccess: createKnownAccess(sql, clock),
    hiddenForms: createHiddenForms(sql, clock),
    previews: createPreviews(sql, given),
    consoleSessions: createConsoleSessions(sql, clock),
    signInTries: createSignInTries(sql, clock),
    notices: createNotices(sql, clock),
    readSecret: (name) => readSecret(sql, name, random),
    isCurrent: () => isCurrent(sql, stateMigrations),
    countWrites: sql.countWrites,
    close: sql.close,
  };
}

async function readSecret(
  { db, write }: Sql<StateTables>,
  name: string,
  random: Random,
): Promise<Uint8Array> {
  const find = () => db.selectFrom("secrets").select("value").where("name", "=", name);
  const known = await find().executeTakeFirst();
  if (known !== undefined) return Buffer.from(known.value, "base64url");
  const value = Buffer.from(random.bytes(secretBytes)).toString("base64url");
  // Of two processes that ask at once, the first one's secret stays.
  await write(async (inner) => {
    const insert = inner.insertInto("secrets").values({ name, value });
    await insert.onConflict((conflict) => conflict.column("name").doNothing()).execute();
  });
  const stored = await find().executeTakeFirstOrThrow();
  return Buffer.from(stored.value, "base64url");
}
