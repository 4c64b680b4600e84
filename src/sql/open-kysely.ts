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
import { retryWhileBusy } from "./busy-lock.ts";
import { isBusy, translateFault } from "./faults.ts";
import type { Query, RunStatement } from "./run-statements.ts";
import type { Engine } from "./sql.ts";

/** Kysely over whatever runs statements on SQLite; `sqlite.ts` has the transactions around them. */
export function openKysely<Tables>(runStatement: RunStatement): Kysely<Tables> {
  const runAgain = (query: Query) =>
    retryWhileBusy(() => runStatement(query)).catch(throwTranslated);
  const run: RunStatement = (query) => {
    try {
      const ran = runStatement(query);
      return ran instanceof Promise ? ran.catch(throwTranslated) : ran;
    } catch (error) {
      return isBusy(error) ? runAgain(query) : throwTranslated(error);
    }
  };
  const connection: DatabaseConnection = {
    // Named, the rows have the shape of the query that Kysely typed.
    executeQuery: async <Row>(query: Query) => (await run(query)) as QueryResult<Row>,
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

/** Which engine is below: its adapter says so, whatever plugins are around it. */
export function readEngine<Tables>(db: Kysely<Tables>): Engine {
  return db.getExecutor().adapter instanceof PostgresAdapter ? "postgres" : "sqlite";
}

/** Of pg_class, the tables in the schema where ours are made, whatever its name is. */
export const inOwnSchema =
  "relnamespace = to_regnamespace(quote_ident(current_schema())) and relkind in ('r', 'p')";

const selectNames = {
  sqlite: sql<{ name: string }>`select name from sqlite_schema where type = 'table'`,
  postgres: sql<{ name: string }>`
    select relname as name from pg_class
    where ${sql.raw(inOwnSchema)}
  `,
};

/** The names of all tables, including those that no migration made. */
export async function listTables<Tables>(db: Kysely<Tables>): Promise<readonly string[]> {
  const { rows } = await selectNames[readEngine(db)].execute(db);
  return rows.map(({ name }) => name);
}

const runners = new WeakMap<object, RunStatement>();

/**
 * Runs statements past Kysely, and has answered when it returns. Undefined for a server, whose
 * answers take time, and for a database seen through plugins.
 */
export function findDirectRunner(db: object): RunStatement | undefined {
  return runners.get(db);
}

function throwTranslated(error: unknown): never {
  throw translateFault(error);
}
