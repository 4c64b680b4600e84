import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
  type DatabaseConnection,
  type QueryResult,
} from "kysely";
import { retryWhileBusy, isBusy, translateFault } from "./faults.ts";
import type { SqlQuery, RunStatement } from "./engine.ts";
import type { Engine } from "./sql.ts";

/** Creates a Kysely instance for SQLite. Transactions are implemented in `sqlite.ts` instead. */
export function openKysely<Tables>(runStatement: RunStatement): Kysely<Tables> {
  const run = retryIfBusy(runStatement);
  const connection: DatabaseConnection = {
    // The cast is safe, because Kysely derived Row from the query.
    executeQuery: async <Row>(query: SqlQuery) => (await run(query)) as QueryResult<Row>,
    streamQuery: () => {
      throw new Error("streaming is not supported");
    },
  };
  const db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createIntrospector: (own) => new SqliteIntrospector(own),
      createQueryCompiler: () => new SqliteQueryCompiler(),
      createDriver: () =>
        Object.assign(new DummyDriver(), {
          acquireConnection: () => Promise.resolve(connection),
          beginTransaction: () => Promise.reject(new Error("use the store's own write()")),
        }),
    },
  });
  runners.set(db, run);
  return db;
}

/** Runs statements again while SQLite's lock is held, and translates errors. */
export function retryIfBusy(runStatement: RunStatement): RunStatement {
  const runAgain = (query: SqlQuery) =>
    retryWhileBusy(() => runStatement(query)).catch(throwTranslated);
  return (query) => {
    try {
      const ran = runStatement(query);
      return ran instanceof Promise ? ran.catch(throwTranslated) : ran;
    } catch (error) {
      return isBusy(error) ? runAgain(query) : throwTranslated(error);
    }
  };
}

/** Returns the engine of a Kysely instance, even of one with plugins. */
export function readEngine<Tables>(db: Kysely<Tables>): Engine {
  return db.getExecutor().adapter instanceof PostgresAdapter ? "postgres" : "sqlite";
}

/** Limits queries of `pg_class` to tables in the current schema. */
export const inOwnSchema =
  "relnamespace = to_regnamespace(quote_ident(current_schema())) and relkind in ('r', 'p')";

const selectNames = {
  sqlite: sql<{ name: string }>`select name from sqlite_schema where type = 'table'`,
  postgres: sql<{ name: string }>`
    select relname as name from pg_class
    where ${sql.raw(inOwnSchema)}
  `,
};

/** Lists all tables, including those of other programs. */
export async function listTables<Tables>(db: Kysely<Tables>): Promise<readonly string[]> {
  const { rows } = await selectNames[readEngine(db)].execute(db);
  return rows.map(({ name }) => name);
}

const runners = new WeakMap<object, RunStatement>();

/**
 * Returns a function that runs statements without Kysely, synchronously if possible. Returns
 * undefined for PostgreSQL, and for an instance with plugins.
 */
export function findDirectRunner(db: object): RunStatement | undefined {
  return runners.get(db);
}

function throwTranslated(error: unknown): never {
  throw translateFault(error);
}
