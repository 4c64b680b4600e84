import type { Sql } from "./sql.ts";

/** Has each write wait for what has to be done before any; where that fails, so does the write. */
export function guardWrites<Tables>(
  sql: Sql<Tables>,
  prepare: () => Promise<void> | undefined,
): Sql<Tables> {
  return {
    ...sql,
    write: (work, options) => {
      const preparing = prepare();
      // Mostly there is nothing, and then none loses its place in the line.
      if (preparing === undefined) return sql.write(work, options);
      return preparing.then(() => sql.write(work, options));
    },
  };
}
