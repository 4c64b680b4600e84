import {
  Kysely,
  PostgresAdapter,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
  type DatabaseConnection,
  type QueryResult,
} from "kysely";
import { translateFault } from "./faults.ts";
import type { Query, RunPrepared, StatementRunner } from "./run-statements.ts";
import type { Engine } from "./sql.ts";

/** Kysely over whatever runs statements on SQLite; `sqlite.ts` has the transactions around them. */
export function openKysely<Tables>(
  run: StatementRunner["run"],
  prepare?: StatementRunner["prepare"],
): Kysely<Tables> {
  const connection: DatabaseConnection = {
    executeQuery: async <Row>(query: Query) => {
      try {
        // Named, the rows have the shape of the query that Kysely typed.
        return (await run(query)) as QueryResult<Row>;
      } catch (error) {
        throw translateFault(error);
      }
    },
    streamQuery: () => {
      throw new Error("streaming is not supported");
    },
  };
  const db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createIntrospector: (own) => new SqliteIntrospector(own),
      createQueryCompiler: () => new SqliteQueryCompiler(),
      createDriver: () => ({
        init: () => Promise.resolve(),
        acquireConnection: () => Promise.resolve(connection),
        releaseConnection: () => Promise.resolve(),
        beginTransaction: refuseTransaction,
        commitTransaction: refuseTransaction,
        rollbackTransaction: refuseTransaction,
        destroy: () => Promise.resolve(),
      }),
    },
  });
  if (prepare !== undefined) preparers.set(db, prepare);
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

const preparers = new WeakMap<object, StatementRunner["prepare"]>();

/**
 * A statement that runs past Kysely and has answered when it returns. Undefined for a server, whose
 * answers take time, and for a database seen through plugins.
 */
export function prepareDirectly(db: object, statement: string): RunPrepared | undefined {
  const run = preparers.get(db)?.(statement);
  if (run === undefined) return undefined;
  return (parameters) => {
    try {
      const rows = run(parameters);
      return rows instanceof Promise ? rows.catch(throwTranslated) : rows;
    } catch (error) {
      return throwTranslated(error);
    }
  };
}

function throwTranslated(error: unknown): never {
  throw translateFault(error);
}

function refuseTransaction(): Promise<never> {
  return Promise.reject(new Error("use the store's own write()"));
}
