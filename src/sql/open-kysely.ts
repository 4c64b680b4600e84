import {
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type QueryResult,
} from "kysely";
import { translateFault } from "./faults.ts";
import { translatePostgresFault } from "./postgres-faults.ts";
import type { MoreRunners, Query, RunPrepared, StatementRunner } from "./run-statements.ts";
import type { Engine } from "./sql.ts";

/**
 * Kysely over whatever runs statements; the transactions around them are `sqlite.ts`'s and
 * `postgres.ts`'s.
 */
export function openKysely<Tables>(
  engine: Engine,
  run: StatementRunner["run"],
  more: MoreRunners = {},
): Kysely<Tables> {
  const { translate = translators[engine] } = more;
  const executeQuery = async <Row>({ sql, parameters }: Query) => {
    try {
      // Named, the rows have the shape of the query that Kysely typed.
      return (await run({ sql, parameters })) as QueryResult<Row>;
    } catch (error) {
      throw translate(error);
    }
  };
  const db = new Kysely<Tables>({ dialect: createDialect(engine, executeQuery) });
  directly.set(db, more);
  return db;
}

/** Which engine is below: its adapter says so, whatever plugins are around it. */
export function readEngine<Tables>(db: Kysely<Tables>): Engine {
  return db.getExecutor().adapter instanceof PostgresAdapter ? "postgres" : "sqlite";
}

const translators = { sqlite: translateFault, postgres: translatePostgresFault };

const directly = new WeakMap<object, MoreRunners>();

/**
 * A statement that is run past Kysely, and has answered when it returns; undefined where it cannot:
 * a database that is somewhere else, or is seen through plugins, promises its rows.
 */
export function prepareDirectly(db: object, sql: string): RunPrepared | undefined {
  const run = directly.get(db)?.prepare?.(sql);
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

/**
 * Calls `take` with each row that a query finds, as it comes from a database that is somewhere
 * else; undefined where all rows are handed over at once.
 */
export function readEach<Row>(
  db: object,
  { sql, parameters }: CompiledQuery<Row>,
  take: (row: Row) => void,
): Promise<void> | undefined {
  // The rows have the shape of the query that Kysely typed.
  const { each, translate = translatePostgresFault } = directly.get(db) ?? {};
  const running = each?.({ sql, parameters }, (row) => take(row as Row));
  return running?.catch((error: unknown) => {
    throw translate(error);
  });
}

function throwTranslated(error: unknown): never {
  throw translateFault(error);
}

type ExecuteQuery = DatabaseConnection["executeQuery"];

const parts = {
  sqlite: {
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
  postgres: {
    createAdapter: () => new PostgresAdapter(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
} satisfies Record<Engine, Omit<Dialect, "createDriver">>;

function createDialect(engine: Engine, executeQuery: ExecuteQuery): Dialect {
  const connection = {
    executeQuery,
    streamQuery: () => {
      throw new Error("streaming is not supported");
    },
  };
  return {
    ...parts[engine],
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
