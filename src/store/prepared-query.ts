import type { CompiledQuery } from "kysely";
import type { Db } from "./tenant.ts";

/**
 * Queries that every request makes, built once and then run with other values. Building costs more
 * than running (storage.md §2).
 */

type Values = readonly (string | number | null)[];
type Compilable<Row> = { readonly compile: () => CompiledQuery<Row> };

export function prepareQuery<Row>(
  build: (db: Db) => Compilable<Row>,
): (db: Db, values: Values) => Promise<Row | undefined> {
  const select = prepareRows(build);
  return async (db, values) => (await select(db, values))[0];
}

/** As `prepareQuery`, for all rows that are found. */
export function prepareRows<Row>(
  build: (db: Db) => Compilable<Row>,
): (db: Db, values: Values) => Promise<readonly Row[]> {
  const built = new WeakMap<Db, CompiledQuery<Row>>();
  return (db, values) => {
    const known = built.get(db);
    const query = known ?? build(db).compile();
    if (known === undefined) built.set(db, query);
    return run(db, query, values);
  };
}

/** Inserts rows that all have the same columns, with no value in the query but theirs. */
export function prepareInsert<Columns extends object, Row>(
  build: (db: Db, values: Columns) => Compilable<Row>,
): (db: Db, values: Columns) => Promise<Row | undefined> {
  type Insert = { readonly query: CompiledQuery<Row>; readonly columns: readonly string[] };
  const built = new WeakMap<Db, Insert>();
  return async (db, values) => {
    const known = built.get(db);
    const { query, columns } = known ?? {
      query: build(db, values).compile(),
      columns: Object.keys(values),
    };
    if (known === undefined) built.set(db, { query, columns });
    // The order in which the first row had them is that of the query.
    const cells = values as Readonly<Record<string, unknown>>;
    const inserted = await run(
      db,
      query,
      columns.map((column) => cells[column]),
    );
    return inserted[0];
  };
}

async function run<Row>(
  db: Db,
  query: CompiledQuery<Row>,
  parameters: readonly unknown[],
): Promise<readonly Row[]> {
  const { rows } = await db.executeQuery<Row>({ ...query, parameters });
  return rows;
}
