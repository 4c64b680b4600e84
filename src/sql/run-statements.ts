import type { Database, SqlValue, SqlStatement } from "./engine.ts";

/** Runs statements on synchronous connections. Recent statements stay prepared. */

export type SqlQuery = { readonly sql: string; readonly parameters: readonly unknown[] };

/** The rows of a statement, or the number of rows that it changed. */
export type StatementResult = {
  readonly rows: readonly Readonly<Record<string, SqlValue | undefined>>[];
  readonly numAffectedRows?: bigint;
};

/** Runs a statement. Only another thread returns a promise. */
export type RunStatement = (query: SqlQuery) => StatementResult | Promise<StatementResult>;

/** Filters create many different statements, so only recent ones stay prepared. */
const mostPrepared = 200;

type PreparedStatement = { readonly statement: SqlStatement; readonly names: readonly string[] };

/** Creates a function that runs statements on one connection, synchronously. */
export function createStatementRunner(database: Database): (query: SqlQuery) => StatementResult {
  const preparedBySql = new Map<string, PreparedStatement>();

  function findPrepared(sql: string): PreparedStatement {
    const known = preparedBySql.get(sql);
    const prepared = known ?? prepareStatement(database, sql);
    if (known !== undefined) preparedBySql.delete(sql);
    preparedBySql.set(sql, prepared);
    const [oldest] = preparedBySql.keys();
    if (preparedBySql.size > mostPrepared && oldest !== undefined) preparedBySql.delete(oldest);
    return prepared;
  }

  return ({ sql, parameters }) => {
    // Kysely types parameters as unknown, but our tables contain only values of this type.
    const values = parameters as readonly SqlValue[];
    refuseNul(values);
    const { statement, names } = findPrepared(sql);
    if (names.length === 0) {
      return { rows: [], numAffectedRows: BigInt(statement.run(...values).changes) };
    }
    // The statement returns arrays, as set below.
    const rows = statement.all(...values) as (readonly SqlValue[])[];
    return { rows: rows.map((cells) => nameCells(names, cells)) };
  };
}

function prepareStatement(database: Database, sql: string): PreparedStatement {
  const statement = database.prepare(sql);
  // The engine's own row objects have no prototype, and are slow to create and copy.
  statement.setReturnArrays(true);
  return { statement, names: statement.columns().map(({ name }) => name) };
}

function nameCells(names: readonly string[], cells: readonly SqlValue[]) {
  const row: Record<string, SqlValue | undefined> = {};
  // A counted loop, because an iterator over the names takes five times as long.
  for (let at = 0; at < names.length; at += 1) row[names[at] ?? ""] = cells[at];
  return row;
}

/** Rejects texts with a NUL character. A driver would end the text there and match other rows. */
export function refuseNul(values: readonly unknown[]): void {
  if (values.some(hasNul)) throw new Error("a text with a NUL reached the database");
}

function hasNul(value: unknown): boolean {
  return typeof value === "string" && value.includes("\0");
}
