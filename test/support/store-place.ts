import { join } from "node:path";
import type { ClockAndRandom } from "../../src/contract/clock.ts";
import type { Sql } from "../../src/sql/sql.ts";
import { openSqlite } from "../../src/sql/sqlite.ts";
import { openState, type State } from "../../src/state/state.ts";
import type { StateTables } from "../../src/state/tables.ts";
import type { Tables } from "../../src/store/tables.ts";
import { createEmptyFolder } from "./folders.ts";
import { waitUntil } from "./clock.ts";
import { takeDatabase } from "./postgres.ts";
import { randomBytes } from "node:crypto";
import { afterEach, beforeEach } from "vitest";
import { sql, type Kysely } from "kysely";
import { whileAwaited } from "../../src/sql/long-reads.ts";

/** Use this for a store or state without a service, in SQLite or PostgreSQL. */

/** A store's location: a file or a PostgreSQL database, as the test run selects. */
export type StorePlace = {
  readonly folder: string;
  readonly file: string;
  readonly open: () => Promise<Sql<Tables>>;
  readonly openStateSql: () => Promise<Sql<StateTables>>;
  readonly openState: (given: ClockAndRandom) => Promise<State>;
  /** Whether a query is running. It takes real time, of the disk or the server. */
  readonly isBusy: () => boolean;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export const isOnPostgres = process.env["WAYPOST_TEST_ENGINE"] === "postgres";

export async function createPlace(): Promise<StorePlace> {
  const place = await createEmptyFolder();
  const folder = place.path;
  const file = join(folder, "waypost.db");
  const stateFile = join(folder, "state.db");
  const database = isOnPostgres ? await takeDatabase() : undefined;
  const { watch, isUnderWay } = createWatch();
  const openFor = async <Opened>(path: string, applicationId: number) =>
    watch(await (database?.open<Opened>() ?? openSqlite<Opened>(path, { applicationId })));
  const openStateSql = () => openFor<StateTables>(stateFile, 0x57415953);
  return {
    folder,
    file,
    open: () => openFor<Tables>(file, 0x57415950),
    openStateSql,
    openState: async (given) => openState(await openStateSql(), given),
    isBusy: () => isUnderWay() || database?.isBusy() === true,
    [Symbol.asyncDispose]: async () => {
      await database?.[Symbol.asyncDispose]();
      await place[Symbol.asyncDispose]();
    },
  };
}

/** A short read of a file finishes at once. Writes and long reads take time. */
function createWatch() {
  let underWay = 0;
  const note = async <Result>(work: Promise<Result>): Promise<Result> => {
    underWay += 1;
    try {
      return await work;
    } finally {
      underWay -= 1;
    }
  };
  return {
    watch: <Opened>(sql: Sql<Opened>): Sql<Opened> => ({
      ...sql,
      write: (work, options) => note(sql.write(work, options)),
      readLong: (work, options) => note(sql.readLong(work, options)),
    }),
    isUnderWay: () => underWay > 0,
  };
}

export type StateFolder = {
  now: number;
  /** The milliseconds of the monotonic clock. */
  elapsed: number;
  readonly file: () => string;
  /** Opens the state like another process. It is closed after the test. */
  readonly open: () => Promise<State>;
  readonly openSql: () => Promise<Sql<StateTables>>;
};

export function openStateForEach(): StateFolder {
  let place: StorePlace | undefined;
  let opened: { readonly close: () => Promise<void> }[] = [];
  const requirePlace = () => {
    if (place === undefined) throw new Error("a store place exists only during a test");
    return place;
  };
  const at: StateFolder = {
    now: 0,
    elapsed: 0,
    file: () => join(requirePlace().folder, "state.db"),
    open: async () => {
      const clock = { now: () => at.now, monotonic: () => at.elapsed };
      const random = { bytes: (count: number) => randomBytes(count) };
      const state = await requirePlace().openState({ clock, random });
      opened.push(state);
      return state;
    },
    openSql: async () => {
      const sql = await requirePlace().openStateSql();
      opened.push(sql);
      return sql;
    },
  };
  beforeEach(async () => {
    [at.now, at.elapsed, opened] = [Date.UTC(2026, 0, 15, 12), 0, []];
    place = await createPlace();
  });
  afterEach(async () => {
    for (const { close } of opened) await close();
    await place?.[Symbol.asyncDispose]();
  });
  return at;
}

export async function countForEver<Tables>(db: Kysely<Tables>): Promise<void> {
  await (isOnPostgres ? sleeping : counting).execute(db);
}

/** Ends that work in PostgreSQL, where it must still run although no one waits for it. */
export async function endForEver({
  openSql,
}: {
  readonly openSql: StorePlace["open"];
}): Promise<void> {
  if (!isOnPostgres) return;
  const other = await openSql();
  await waitUntil(async () => (await ending.execute(other.db)).rows.length > 0);
  await other.close();
}

const sleeping = sql`select pg_sleep(30)`;
const ending = sql`
  select pg_cancel_backend(pid) from pg_stat_activity
  where datname = current_database() and state = 'active' and query = 'select pg_sleep(30)'
`;

const counting = sql`
  with recursive numbers(number) as (select 1 union all select number + 1 from numbers)
  select count(*) from numbers where ${whileAwaited(sql`number`)}
`;
