import type { Database, SqlValue, Statement } from "./engine.ts";

/** Statements on synchronous connections, each prepared once on each. */

export type Query = { readonly sql: string; readonly parameters: readonly unknown[] };

/** What a statement has found, or how many rows it has changed. */
export type Ran = {
  readonly rows: readonly Readonly<Record<string, SqlValue | undefined>>[];
  readonly numAffectedRows?: bigint;
};

/** What it found is there when it returns, except where it comes from another thread. */
export type RunStatement = (query: Query) => Ran | Promise<Ran>;

/** Filters make many different statements; the most recently used ones stay prepared. */
const mostPrepared = 200;

type Prepared = { readonly statement: Statement; readonly names: readonly string[] };

/** Runs statements on one connection, at once. */
export function createStatementRunner(database: Database): (query: Query) => Ran {
  const preparedBySql = new Map<string, Prepared>();

  function findPrepared(sql: string): Prepared {
    const known = preparedBySql.get(sql);
    const prepared = known ?? prepareStatement(database, sql);
    if (known !== undefined) preparedBySql.delete(sql);
    preparedBySql.set(sql, prepared);
    const [oldest] = preparedBySql.keys();
    if (preparedBySql.size > mostPrepared && oldest !== undefined) preparedBySql.delete(oldest);
    return prepared;
  }

  return ({ sql, parameters }) => {
    // The rows of our tables hold such values; Kysely types parameters as unknown.
    const values = parameters as readonly SqlValue[];
    refuseNul(values);
    const { statement, names } = findPrepared(sql);
    if (names.length === 0) {
      return { rows: [], numAffectedRows: BigInt(statement.run(...values).changes) };
    }
    // Arrays were asked for.
    const rows = statement.all(...values) as (readonly SqlValue[])[];
    return { rows: rows.map((cells) => nameCells(names, cells)) };
  };
}

function prepareStatement(database: Database, sql: string): Prepared {
  const statement = database.prepare(sql);
  // The engine's own row objects have no prototype, and are slow to make and to copy.
  statement.setReturnArrays(true);
  return { statement, names: statement.columns().map(({ name }) => name) };
}

function nameCells(names: readonly string[], cells: readonly SqlValue[]) {
  const row: Record<string, SqlValue | undefined> = {};
  // Counted, for an iterator over the names takes five times as long.
  for (let at = 0; at < names.length; at += 1) row[names[at] ?? ""] = cells[at];
  return row;
}

/** A driver would end the text at the NUL and find rows that were not asked for. */
export function refuseNul(values: readonly unknown[]): void {
  if (values.some(hasNul)) throw new Error("a text with a NUL reached the database");
}

function hasNul(value: unknown): boolean {
  return typeof value === "string" && value.includes("\0");
}
