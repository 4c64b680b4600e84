import { join } from "node:path";
import { openDatabase } from "../../src/sql/engine.ts";

/** So many rows in a folder that nobody has open: what is done with all of them takes a while. */
export function plantShortPaths(folder: string, count: number): void {
  const database = openDatabase(join(folder, "waypost.db"));
  database.exec(`
    insert into short_paths (project_id, path, link_id, query, place)
    with recursive each(n) as (select 1 union all select n + 1 from each where n < ${count})
    select project_id, 'path-' || n, id, 'q=' || n, 0 from links, each
  `);
  database.close();
}
