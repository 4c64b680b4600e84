import type { Sql } from "./sql.ts";

/**
 * Has each write wait for what has to be done before any; where that fails, so does the write. It
 * is asked for in the write's own turn: however long that stood in line, it is true then.
 */
export function guardWrites<Tables>(
  sql: Sql<Tables>,
  prepare: () => Promise<void> | undefined,
): Sql<Tables> {
  return {
    ...sql,
    write: (work, options) =>
      sql.write((db) => {
        const preparing = prepare();
        return preparing === undefined ? work(db) : preparing.then(() => work(db));
      }, options),
  };
}
