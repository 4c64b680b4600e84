import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ClockAndRandom } from "../../src/contract/clock.ts";
import type { Sql } from "../../src/sql/sql.ts";
import { openSqlite } from "../../src/sql/sqlite.ts";
import { openState, type State } from "../../src/state/state.ts";
import type { StateTables } from "../../src/state/tables.ts";
import type { Tables } from "../../src/store/tables.ts";
import { memoryFolder } from "./folders.ts";
import { takeDatabase } from "./postgres.ts";
import { randomBytes } from "node:crypto";
import { afterEach, beforeEach } from "vitest";
import { sql, type Kysely } from "kysely";
import { whileAwaited } from "../../src/sql/long-reads.ts";

/**
 * Use this for a store or state by itself, in a file or in PostgreSQL as the run of the tests says.
 */

/**
 * Where a test's store is: in a file, or where this run of the tests says so in PostgreSQL. The
 * same tests are run on both (vitest.config.ts).
 */
export type StorePlace = {
  readonly folder: string;
  readonly file: string;
  /** Opens the tables once more, as another process would. */
  readonly open: () => Promise<Sql<Tables>>;
  /** What Waypost itself remembers there: its tables, and all of it, as another process would. */
  readonly openStateSql: () => Promise<Sql<StateTables>>;
  readonly openState: (given: ClockAndRandom) => Promise<State>;
  /** Whether an answer of it is on the way, which takes real time: the disk's, or the server's. */
  readonly isBusy: () => boolean;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

/** For what is about a file alone. */
export const isOnPostgres = process.env["WAYPOST_TEST_ENGINE"] === "postgres";

export async function createPlace(): Promise<StorePlace> {
  const folder = await mkdtemp(join(memoryFolder, "waypost-world-"));
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
      await database?.giveBack();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A short read of a file is answered at once; a write or a long read has to be waited for. */
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

/** A place for the state of each test, and clocks that the test moves. */
export type StateFolder = {
  /** The time of day. */
  now: number;
  /** What the clock that never jumps has counted. */
  elapsed: number;
  /** Where the state is in a file. */
  readonly file: () => string;
  /** As another process opens it; what was opened is closed after the test. */
  readonly open: () => Promise<State>;
  /** Its tables alone, which are closed after the test as well. */
  readonly openSql: () => Promise<Sql<StateTables>>;
};

export function openStateForEach(): StateFolder {
  let place: StorePlace | undefined;
  let opened: { readonly close: () => Promise<void> }[] = [];
  const requirePlace = () => {
    if (place === undefined) throw new Error("a place is there in tests alone");
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

/** A statement that ends only when its caller has left. */
export async function countForEver<Tables>(db: Kysely<Tables>): Promise<void> {
  await (isOnPostgres ? sleeping : counting).execute(db);
}

/** The server can end any statement. */
const sleeping = sql`select pg_sleep(3600)`;

const counting = sql`
  with recursive numbers(number) as (select 1 union all select number + 1 from numbers)
  select count(*) from numbers where ${whileAwaited(sql`number`)}
`;
