import type { CompiledQuery } from "kysely";
import type { Db } from "./tenant.ts";

/**
 * A query that every request makes, built once and then run with other values. Building costs
 * more than running it (storage.md §2).
 */
export function prepareQuery<Row>(
  build: (db: Db) => { compile: () => CompiledQuery<Row> },
): (db: Db, values: readonly string[]) => Promise<Row | undefined> {
  const built = new WeakMap<Db, CompiledQuery<Row>>();
  return async (db, parameters) => {
    const known = built.get(db);
    const query = known ?? build(db).compile();
    if (known === undefined) built.set(db, query);
    const { rows } = await db.executeQuery<Row>({ ...query, parameters });
    return rows[0];
  };
}
