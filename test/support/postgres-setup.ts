import { query, serverVariable, startPostgres } from "./postgres.ts";
import { openTransactionPooler } from "./postgres-proxy.ts";

/** Vitest starts PostgreSQL with this, unless one is named. WAYPOST_TEST_POOLER=3 adds a pooler. */
export async function setup(): Promise<() => Promise<void>> {
  const given = process.env["WAYPOST_TEST_DATABASE_URL"];
  const server = given === undefined ? await startPostgres() : undefined;
  const url = server?.url ?? given ?? "";
  const most = Number(process.env["WAYPOST_TEST_POOLER"] ?? 0);
  const pooler = most > 0 ? await openTransactionPooler(url, most) : undefined;
  process.env[serverVariable] = pooler?.url ?? url;
  return async () => {
    await pooler?.[Symbol.asyncDispose]();
    await (server === undefined ? dropDatabases(url) : server.stop());
    const left = [...new Set(pooler?.left)];
    if (left.length > 0) throw new Error(`left in sessions: ${left.join("; ")}`);
  };
}

async function dropDatabases(url: string): Promise<void> {
  const rows = await query(url, "select datname from pg_database where datname ~ '^waypost_test_'");
  for (const { datname } of rows) await query(url, `drop database ${String(datname)} with (force)`);
}
