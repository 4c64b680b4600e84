import type { CompiledQuery } from "kysely";
import { andThen, type Awaitable } from "../contract/awaitable.ts";
import { prepareDirectly } from "../sql/open-kysely.ts";
import type { Db } from "./tenant.ts";

/**
 * Queries that every request makes, built once and then run with other values. Building costs more
 * than running (storage.md §2).
 */

type Values = readonly (string | number | null)[];
type Compilable<Row> = { readonly compile: (db: Db) => CompiledQuery<Row> };

export function prepareQuery<Row>(
  build: (db: Db) => Compilable<Row>,
): (db: Db, values: Values) => Awaitable<Row | undefined> {
  const select = prepareRows(build);
  return (db, values) => andThen(select(db, values), readFirst);
}

/** As `prepareQuery`, for all rows that are found. */
export function prepareRows<Row>(
  build: (db: Db) => Compilable<Row>,
): (db: Db, values: Values) => Awaitable<readonly Row[]> {
  const built = new WeakMap<Db, Run<Row>>();
  return (db, values) => {
    const known = built.get(db);
    const run = known ?? openQuery(db, build(db).compile(db));
    if (known === undefined) built.set(db, run);
    return run(values);
  };
}

type Run<Row> = (parameters: readonly unknown[]) => Awaitable<readonly Row[]>;

function openQuery<Row>(db: Db, query: CompiledQuery<Row>): Run<Row> {
  // Its rows have the shape of the query that Kysely typed.
  const runDirectly = prepareDirectly(db, query.sql) as Run<Row> | undefined;
  if (runDirectly !== undefined) return runDirectly;
  return async (parameters) => (await db.executeQuery<Row>({ ...query, parameters })).rows;
}

function readFirst<Row>(rows: readonly Row[]): Row | undefined {
  return rows[0];
}
