import type { Database, SqlValue, Statement } from "./engine.ts";
import { isBusy } from "./faults.ts";
import { retryWhileBusy } from "./busy-lock.ts";

/** Statements on one synchronous connection, each prepared once. */

export type Query = { readonly sql: string; readonly parameters: readonly unknown[] };

/** What a statement has found, or how many rows it has changed. */
export type Ran = {
  readonly rows: readonly Readonly<Record<string, SqlValue | undefined>>[];
  readonly numAffectedRows?: bigint;
};

export type RunStatement = (query: Query) => Promise<Ran>;

/** Filters make many different statements; the most recently used ones stay prepared. */
const mostPrepared = 200;

type Prepared = { readonly statement: Statement; readonly names: readonly string[] };

export function createStatementRunner(database: Database): RunStatement {
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

  function run({ sql, parameters }: Query): Ran {
    // Rows are bound as what our tables hold; Kysely types parameters as unknown.
    const values = parameters as readonly SqlValue[];
    refuseNul(values);
    const { statement, names } = prepare(sql);
    if (names.length > 0) {
      // Arrays were asked for.
      const rows = statement.all(...values) as (readonly SqlValue[])[];
      return { rows: rows.map((cells) => nameCells(names, cells)) };
    }
    return { rows: [], numAffectedRows: BigInt(statement.run(...values).changes) };
  }

  /** Undefined where the lock was taken, which is rare enough to be worth no loop. */
  function runNow(query: Query): Ran | undefined {
    try {
      return run(query);
    } catch (error) {
      if (isBusy(error)) return undefined;
      throw error;
    }
  }

  return async (query) => runNow(query) ?? (await retryWhileBusy(() => run(query), isBusy));
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
