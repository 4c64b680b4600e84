import { expect, test } from "vitest";
import { createUsedFolder, run, startServe } from "../support/command.ts";
import { createDatabase, query } from "../support/postgres.ts";

/** A database that another version of Waypost wrote is refused and not changed. */

const shapes = [
  "update waypost_migrations set name = '001-init'",
  "update state_migrations set name = '001-init'",
  "drop table waypost_migrations, projects; update state_migrations set name = '001-init'",
];

const readTables = async (url: string) => {
  const tables = await query(url, "select tablename from pg_tables where schemaname = 'public'");
  const read = async ({ tablename }: (typeof tables)[number]) => {
    const each = "row_of::text || row_of.ctid::text || row_of.xmin::text";
    const table = String(tablename);
    const text = `select string_agg(${each}, ' ' order by row_of.ctid) from ${table} row_of`;
    return [table, await query(url, text)];
  };
  return Object.fromEntries(await Promise.all(tables.map(read)));
};

test.each(shapes)("commands refuse another Waypost version's database: %s", async (statements) => {
  const url = await createDatabase();
  const env = { WAYPOST_DATABASE_URL: url };
  await using folder = await createUsedFolder();
  const serving = await startServe(folder.path, [], { env });
  await serving.stop();
  await query(url, statements);
  const before = await readTables(url);
  await using other = await createUsedFolder();
  for (const words of [["serve", "--port", "0"], ["stdio"], ["keys", "create"]]) {
    const { code, stderr } = await run([...words, "--data", other.path], { env, input: "" });
    expect([code, stderr]).toEqual([
      2,
      "waypost: This version of Waypost cannot read the data, because another version wrote it. " +
        "Use that version, or choose an empty folder or database.\n",
    ]);
    expect(await readTables(url)).toEqual(before);
  }
});
