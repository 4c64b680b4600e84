import {
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type DatabaseConnection,
  type Dialect,
  type QueryResult,
} from "kysely";
import { translateFault } from "./faults.ts";
import type { RunStatement } from "./run-statements.ts";

/**
 * Kysely over one connection, which only runs statements; the transactions around them are
 * `sqlite.ts`'s.
 */
export function openKysely<Tables>(run: RunStatement): Kysely<Tables> {
  const executeQuery = async <Row>({ sql, parameters }: Parameters<RunStatement>[0]) => {
    try {
      // Named, the rows have the shape of the query that Kysely typed.
      return (await run({ sql, parameters })) as QueryResult<Row>;
    } catch (error) {
      throw translateFault(error);
    }
  };
  const db = new Kysely<Tables>({ dialect: createSqliteDialect(executeQuery) });
  // The one connection is always there: asking for it, and for plugins that see what was found,
  // costs as much as a quick statement.
  Object.assign(db.getExecutor(), { executeQuery });
  return db;
}

type ExecuteQuery = DatabaseConnection["executeQuery"];

function createSqliteDialect(executeQuery: ExecuteQuery): Dialect {
  const connection = {
    executeQuery,
    streamQuery: () => {
      throw new Error("streaming is not supported");
    },
  };
  return {
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
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
  };
}

function refuseTransaction(): Promise<never> {
  return Promise.reject(new Error("use the store's own write()"));
}
