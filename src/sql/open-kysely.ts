import {
  Kysely,
  PostgresAdapter,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
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
    executeQuery: async <Row>({ sql, parameters }: Query) => {
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

const preparers = new WeakMap<object, StatementRunner["prepare"]>();

/**
 * A statement that runs past Kysely and has answered when it returns. Undefined for a server, whose
 * answers take time, and for a database seen through plugins.
 */
export function prepareDirectly(db: object, sql: string): RunPrepared | undefined {
  const run = preparers.get(db)?.(sql);
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
