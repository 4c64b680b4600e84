import { query, serverVariable } from "./postgres.ts";
import { startPostgres } from "./postgres-server.ts";

/** Run once before the tests on PostgreSQL: where the operator names no server, one is started. */
export async function setup(): Promise<() => Promise<void>> {
  const given = process.env["WAYPOST_TEST_DATABASE_URL"];
  if (given !== undefined) {
    process.env[serverVariable] = given;
    return () => dropDatabases(given);
  }
  const server = await startPostgres();
  process.env[serverVariable] = server.url;
  return server.stop;
}

async function dropDatabases(url: string): Promise<void> {
  const rows = await query(url, "select datname from pg_database where datname ~ '^waypost_test_'");
  for (const { datname } of rows) await query(url, `drop database ${String(datname)} with (force)`);
}
