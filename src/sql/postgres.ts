import { StoreUnusable } from "./faults.ts";
import { createLongReads } from "./long-reads.ts";
import { openKysely } from "./open-kysely.ts";
import { translatePostgresFault } from "./postgres-faults.ts";
import { explainOpening } from "./postgres-opening.ts";
import { openPostgresPool, type PostgresPool } from "./postgres-pool.ts";
import { openPostgresReader } from "./postgres-reader.ts";
import { explainRights, findMakingFault, selectRights, type Rights } from "./postgres-rights.ts";
import { inOwnSchema } from "./list-tables.ts";
import { createVersionReader } from "./postgres-version.ts";
import { createPostgresWrites } from "./postgres-writes.ts";
import type { RunEach, RunStatement } from "./run-statements.ts";
import type { PoolMeasures, Sql } from "./sql.ts";

/**
 * Writes go one after the other, each with several turns: in one line with the reads of a thousand
 * clients, each of them would stand at the end of that line once more.
 */
const mostConnections = { reading: 9, writing: 1 };
/** So much that is long is read at once: connections must be left for all that is quick. */
const mostLongReads = 2;
/** Nobody mends older ones any more. */
const oldestVersion = 130_000;

/**
 * Opens a PostgreSQL database, or what speaks its protocol. A database with tables of another
 * program is refused and left as it is.
 */
export async function openPostgres<Tables>(url: string): Promise<Sql<Tables>> {
  const pool = openPostgresPool(url, mostConnections.reading);
  const rights = await checkDatabase(pool, url).catch(async (error: unknown) => {
    await pool.close();
    throw error;
  });
  const place = describeDatabase(url);
  const translate = (error: unknown) =>
    translatePostgresFault(explainRights(error, rights, place), place);
  const open = (run: RunStatement, each?: RunEach) =>
    openKysely<Tables>("postgres", run, { each, translate });
  const db = open(pool.run);
  const ofWriter = openPostgresPool(url, mostConnections.writing);
  const writes = createPostgresWrites(ofWriter);
  const writing = open(writes.run);
  const longReads = Array.from({ length: mostLongReads }, () => openLongReads(pool, open));

  return {
    engine: "postgres",
    db,
    readLong: (work, options) => {
      const [freest] = longReads.toSorted((one, other) => one.count() - other.count());
      if (freest === undefined) throw new Error("no connection for long reads exists");
      return freest.read(work, options);
    },
    write: (work, options) =>
      writes
        .write(() => work(writing), options)
        .catch((error: unknown) => {
          throw translate(error);
        }),
    countWrites: writes.countCommits,
    measurePool: () => addMeasures(pool.measure(), ofWriter.measure()),
    readVersion: createVersionReader(pool.run),
    close: async () => {
      await writes.finish();
      await Promise.all(longReads.map(({ close }) => close()));
      await Promise.all([pool.close(), ofWriter.close()]);
    },
  };
}

function addMeasures(one: PoolMeasures, other: PoolMeasures): PoolMeasures {
  return {
    open: one.open + other.open,
    idle: one.idle + other.idle,
    waiting: one.waiting + other.waiting,
  };
}

function openLongReads<Db>(pool: PostgresPool, open: (run: RunStatement, each: RunEach) => Db) {
  const longReads = createLongReads(() => openPostgresReader(pool));
  const db = open(longReads.run, async (query, take) => longReads.use().each(query, take));
  let count = 0;
  return {
    count: () => count,
    read: async <Result>(
      work: (db: Db) => Promise<Result>,
      options: Parameters<typeof longReads.read>[1],
    ) => {
      count += 1;
      try {
        return await longReads.read(() => work(db), options);
      } finally {
        count -= 1;
      }
    },
    close: longReads.close,
  };
}

async function checkDatabase(pool: PostgresPool, url: string): Promise<Rights> {
  const place = describeDatabase(url);
  const ask = async (sql: string) => {
    const { rows } = await pool.run({ sql, parameters: [] }).catch((error: unknown) => {
      const cause = translatePostgresFault(error);
      throw new StoreUnusable(`${place} cannot be opened: ${explainOpening(error, url)}`, {
        cause,
      });
    });
    return rows;
  };
  const [{ version, encoding, tables, own } = {}] = await ask(selectFacts);
  if (Number(version) < oldestVersion) {
    throw new StoreUnusable(`${place} is too old: Waypost needs PostgreSQL 13 or newer.`);
  }
  if (encoding !== "UTF8") {
    throw new StoreUnusable(
      `${place} is not encoded in UTF8. Create a database with that encoding.`,
    );
  }
  if (Number(tables) > 0 && own === null) {
    throw new StoreUnusable(
      `${place} contains tables of another program. Nothing was changed. Use a separate database.`,
    );
  }
  // The statement has these columns, and one row.
  const [rights] = (await ask(selectRights)) as unknown as readonly [Rights];
  const fault = own === null ? findMakingFault(rights) : undefined;
  if (fault !== undefined) throw new StoreUnusable(`${place} ${fault}`);
  return rights;
}

const selectFacts = `
  select current_setting('server_version_num')::int as version,
    current_setting('server_encoding') as encoding,
    to_regclass('waypost_writers')::text as own,
    (select count(*) from pg_class
     where ${inOwnSchema}) as tables
`;

/** How it is told of: without its password, and without what stands behind its name. */
export function describeDatabase(url: string): string {
  try {
    const { protocol, username, host, pathname } = new URL(url);
    const user = username === "" ? "" : `${username}@`;
    return `${protocol}//${user}${host}${pathname}`;
  } catch {
    return "The database";
  }
}
