import { randomUUID } from "node:crypto";
import { Socket } from "node:net";
import { Client } from "pg";
import { openPostgres } from "../../src/sql/postgres.ts";
import type { PoolMeasures, Sql } from "../../src/sql/sql.ts";

/** Databases for tests, on the server of this run (postgres-setup.ts). */

/** A database that is empty, or has the tables of an earlier world and no row in them. */
export type TestDatabase = {
  readonly url: string;
  readonly open: <Tables>() => Promise<Sql<Tables>>;
  /** Whether anything is asked of the server, or waits for that, by what was opened on it. */
  readonly isBusy: () => boolean;
  /** The address of one that is new, and that nobody has afterwards. */
  readonly createOther: () => Promise<string>;
  /** Empties it for the next one; everything that was opened on it must be closed. */
  readonly giveBack: () => Promise<void>;
};

/** Where the tests of this run have their server; they are only run where there is one. */
export const serverVariable = "WAYPOST_TEST_POSTGRES";

const free: string[] = [];

export async function takeDatabase(): Promise<TestDatabase> {
  const url = free.pop() ?? (await createDatabase());
  const measures: (() => PoolMeasures | undefined)[] = [];
  return {
    url,
    open: async <Tables>() => {
      const sql = await openPostgres<Tables>(url);
      measures.push(() => sql.measurePool?.());
      return sql;
    },
    isBusy: () =>
      measures.some((measure) => {
        const { open = 0, idle = 0, waiting = 0 } = measure() ?? {};
        return open - idle + waiting > 0;
      }),
    createOther: createDatabase,
    giveBack: async () => {
      await empty(url);
      free.push(url);
    },
  };
}

/** Marks a database as Waypost's, for a test that makes tables of its own there. */
export async function markDatabase(url: string): Promise<void> {
  await query(url, "create table if not exists waypost_migrations (name text primary key)");
}

/** One without a table in it, whatever those before have left there. */
export async function takeEmptyDatabase(): Promise<TestDatabase> {
  const database = await takeDatabase();
  await query(database.url, "drop schema public cascade; create schema public");
  return database;
}

async function createDatabase(): Promise<string> {
  const server = new URL(process.env[serverVariable] ?? "");
  const name = `waypost_test_${randomUUID().replaceAll("-", "")}`;
  await query(server.href, `create database ${name}`);
  server.pathname = `/${name}`;
  return server.href;
}

export async function query(url: string, text: string) {
  const client = new Client(url);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

/** A new connection reads the catalog of every table first: each database keeps one. */
const emptiers = new Map<string, Promise<Client>>();

function findEmptier(url: string): Promise<Client> {
  const kept = emptiers.get(url);
  if (kept !== undefined) return kept;
  // It is never closed, and keeps no process alive.
  const client = new Client({ connectionString: url, stream: () => new Socket().unref() });
  client.on("error", () => emptiers.delete(url));
  const connecting = client.connect().then(() => client);
  emptiers.set(url, connecting);
  return connecting;
}

/** Rows are fewer than files: a table is emptied sooner so than it is made anew. */
async function empty(url: string): Promise<void> {
  const client = await findEmptier(url);
  await client.query(
    `do $$ declare name text; begin
      for name in select relname from pg_class
        where relnamespace = 'public'::regnamespace and relkind = 'r' and relname !~ 'migrations'
      loop execute format('delete from %I', name); end loop;
      perform setval(oid, 1, false) from pg_class
        where relnamespace = 'public'::regnamespace and relkind = 'S';
    end $$`,
  );
}
