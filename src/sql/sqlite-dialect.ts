import {
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type QueryResult,
} from "kysely";
import type { Database, SqlValue, Statement } from "./engine.ts";
import { isBusy, translateFault } from "./faults.ts";
import { retryWhileBusy } from "./busy-lock.ts";

/**
 * Kysely over one synchronous connection, which only runs statements, each prepared once; the
 * transactions around them are `sqlite.ts`'s.
 */
export function createSqliteDialect(database: Database): Dialect {
  const connection = connect(database);
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
      destroy: () => {
        database.close();
        return Promise.resolve();
      },
    }),
  };
}

/** Filters make many different statements; the most recently used ones stay prepared. */
const mostPrepared = 200;

type Prepared = { readonly statement: Statement; readonly names: readonly string[] };

function connect(database: Database): DatabaseConnection {
  const preparedBySql = new Map<string, Prepared>();

  function prepare(sql: string): Prepared {
    const known = preparedBySql.get(sql);
    if (known !== undefined) {
      preparedBySql.delete(sql);
      preparedBySql.set(sql, known);
      return known;
    }
    const statement = database.prepare(sql);
    // The engine's own row objects have no prototype, and are slow to make and to copy.
    statement.setReturnArrays(true);
    const prepared = { statement, names: statement.columns().map(({ name }) => name) };
    preparedBySql.set(sql, prepared);
    const [oldest] = preparedBySql.keys();
    if (preparedBySql.size > mostPrepared && oldest !== undefined) preparedBySql.delete(oldest);
    return prepared;
  }

  function run<Row>({ sql, parameters }: CompiledQuery): QueryResult<Row> {
    // Rows are bound as what our tables hold; Kysely types parameters as unknown.
    const values = parameters as readonly SqlValue[];
    // A driver would end the text at the NUL and find rows that were not asked for.
    if (values.some(hasNul)) throw new Error("a text with a NUL reached the database");
    const { statement, names } = prepare(sql);
    if (names.length > 0) {
      // Arrays were asked for, and named they have the shape of the query that Kysely typed.
      const rows = statement.all(...values) as (readonly SqlValue[])[];
      return { rows: rows.map((cells) => nameCells(names, cells)) as Row[] };
    }
    return { rows: [], numAffectedRows: BigInt(statement.run(...values).changes) };
  }

  /** Undefined where the lock was taken, which is rare enough to be worth no loop. */
  function runNow<Row>(query: CompiledQuery): QueryResult<Row> | undefined {
    try {
      return run(query);
    } catch (error) {
      if (isBusy(error)) return undefined;
      throw error;
    }
  }

  return {
    executeQuery: async (query) => {
      try {
        return runNow(query) ?? (await retryWhileBusy(() => run(query), isBusy));
      } catch (error) {
        throw translateFault(error);
      }
    },
    streamQuery: () => {
      throw new Error("streaming is not supported");
    },
  };
}

function nameCells(names: readonly string[], cells: readonly SqlValue[]) {
  const row: Record<string, SqlValue | undefined> = {};
  for (const [index, name] of names.entries()) row[name] = cells[index];
  return row;
}

function hasNul(value: SqlValue): boolean {
  return typeof value === "string" && value.includes("\0");
}

function refuseTransaction(): Promise<never> {
  return Promise.reject(new Error("use the store's own write()"));
}
