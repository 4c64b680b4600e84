import { setImmediate } from "node:timers/promises";
import { sql, type CompiledQuery, type RawBuilder } from "kysely";
import { andThen, type Awaitable } from "../contract/waiting.ts";
import { findDirectRunner, readEngine } from "../sql/open-kysely.ts";
import type { Engine } from "../sql/sql.ts";
import type { Db } from "./tables.ts";

/** Builds frequent queries once, because building a query takes longer than running it. */

type QueryValues = readonly (string | number | null)[];
type Compilable<Row> = { readonly compile: (db: Db) => CompiledQuery<Row> };

export function prepareQuery<Row>(
  build: (db: Db) => Compilable<Row>,
): (db: Db, values: QueryValues) => Awaitable<Row | undefined> {
  const select = prepareRows(build);
  return (db, values) => andThen(select(db, values), readFirst);
}

export function prepareRows<Row>(
  build: (db: Db) => Compilable<Row>,
): (db: Db, values: QueryValues) => Awaitable<readonly Row[]> {
  const built = new WeakMap<Db, RunQuery<Row>>();
  return (db, values) => {
    const known = built.get(db);
    const run = known ?? openQuery(db, build(db).compile(db));
    if (known === undefined) built.set(db, run);
    return run(values);
  };
}

/**
 * Prepares one statement per batch size, such as 200, 20 and 1 rows. `row` is the SQL of one row.
 * The values of all rows are passed as one flat list.
 */
export function prepareBatches<Row>(
  sizes: readonly number[],
  row: RawBuilder<unknown>,
  build: (rows: RawBuilder<unknown>) => RawBuilder<Row>,
): (db: Db, values: QueryValues) => Promise<readonly Row[]> {
  const { length: width } = row.toOperationNode().parameters;
  const batches = sizes.map((size) => {
    const compiled: Partial<Record<Engine, CompiledQuery<Row>>> = {};
    const compile = (db: Db) =>
      (compiled[readEngine(db)] ??= build(sql.join(Array(size).fill(row))).compile(db));
    return { cells: size * width, run: prepareRows<Row>(() => ({ compile })) };
  });
  return async (db, values) => {
    const returned: Row[] = [];
    for (let start = 0; start < values.length;) {
      const batch = batches.find(({ cells }) => start + cells <= values.length);
      if (batch === undefined) throw new Error("the values are not of whole rows");
      const end = start + batch.cells;
      returned.push(...(await batch.run(db, values.slice(start, end))));
      start = end;
      // Let visitors' requests run between two batches.
      await setImmediate();
    }
    return returned;
  };
}

type RunQuery<Row> = (parameters: readonly unknown[]) => Awaitable<readonly Row[]>;

function openQuery<Row>(db: Db, query: CompiledQuery<Row>): RunQuery<Row> {
  const runDirectly = findDirectRunner(db);
  if (runDirectly === undefined) {
    return async (parameters) => (await db.executeQuery<Row>({ ...query, parameters })).rows;
  }
  const { sql } = query;
  // The cast is safe, because Kysely derived Row from the query.
  return (parameters) => andThen(runDirectly({ sql, parameters }), ({ rows }) => rows as Row[]);
}

function readFirst<Row>(rows: readonly Row[]): Row | undefined {
  return rows[0];
}
