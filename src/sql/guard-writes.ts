import type { Sql } from "./sql.ts";

/**
 * Has each write wait for what has to be done before any; where that fails, so does the write. It
 * is asked for before the write joins the line, so that none holds up others for what fails, and
 * once more in its turn: however long it stood there, it is true then.
 */
export function guardWrites<Tables>(
  sql: Sql<Tables>,
  prepare: () => Promise<void> | undefined,
): Sql<Tables> {
  function afterwards<Result>(go: () => Promise<Result>): Promise<Result> {
    const preparing = prepare();
    // Mostly there is nothing, and then none loses its place in the line.
    return preparing === undefined ? go() : preparing.then(go);
  }

  return {
    ...sql,
    write: (work, options) =>
      afterwards(() => sql.write((db) => afterwards(() => work(db)), options)),
  };
}
