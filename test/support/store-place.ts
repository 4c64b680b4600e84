import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ClockAndRandom } from "../../src/contract/clock.ts";
import type { Sql } from "../../src/sql/sql.ts";
import { openSqlite } from "../../src/sql/sqlite.ts";
import { openState, type State } from "../../src/state/state.ts";
import type { StateTables } from "../../src/state/tables.ts";
import type { Tables } from "../../src/store/tables.ts";
import { memoryFolder } from "./memory-folder.ts";
import { takeDatabase } from "./postgres.ts";

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
