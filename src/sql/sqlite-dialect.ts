import {
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type Dialect,
  type QueryResult,
} from "kysely";
import { translateFault } from "./faults.ts";
import type { RunStatement } from "./run-statements.ts";

/**
 * Kysely over one connection, which only runs statements; the transactions around them are
 * `sqlite.ts`'s.
 */
export function createSqliteDialect(run: RunStatement): Dialect {
  const connection = {
    executeQuery: async <Row>({ sql, parameters }: Parameters<RunStatement>[0]) => {
      try {
        // Named, the rows have the shape of the query that Kysely typed.
        return (await run({ sql, parameters })) as QueryResult<Row>;
      } catch (error) {
        throw translateFault(error);
      }
    },
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
