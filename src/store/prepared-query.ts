import type { CompiledQuery } from "kysely";
import type { Db } from "./tenant.ts";

/**
 * Queries that every request makes, built once and then run with other values. Building costs more
 * than running (storage.md §2).
 */

type Compilable<Row> = { readonly compile: () => CompiledQuery<Row> };

export function prepareQuery<Row>(
  build: (db: Db) => Compilable<Row>,
): (db: Db, values: readonly (string | number | null)[]) => Promise<Row | undefined> {
  const built = new WeakMap<Db, CompiledQuery<Row>>();
  return async (db, parameters) => {
    const known = built.get(db);
    const query = known ?? build(db).compile();
    if (known === undefined) built.set(db, query);
    return run(db, query, parameters);
  };
}

/** Inserts rows that all have the same columns, with no value in the query but theirs. */
export function prepareInsert<Values extends object, Row>(
  build: (db: Db, values: Values) => Compilable<Row>,
): (db: Db, values: Values) => Promise<Row | undefined> {
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
    return run(
      db,
      query,
      columns.map((column) => cells[column]),
    );
  };
}

async function run<Row>(
  db: Db,
  query: CompiledQuery<Row>,
  parameters: readonly unknown[],
): Promise<Row | undefined> {
  const { rows } = await db.executeQuery<Row>({ ...query, parameters });
  return rows[0];
}
