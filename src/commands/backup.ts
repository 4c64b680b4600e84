import { existsSync, mkdtempSync } from "node:fs";
import { lstat, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { sql } from "kysely";
import { listDatabases, withFile } from "../app/process/copied-databases.ts";
import { checkDataFolder, keptFiles, readCode } from "../app/data/data-folder.ts";
import { clock, refuseOtherVersions, requireData } from "../app/process/embedded.ts";
import { readDatabaseUrl } from "../app/data/secrets.ts";
import { isDiskFault, writeWholeFile } from "../app/data/whole-file.ts";
import { UsageFault, type Config } from "../config.ts";
import { writeArchive, type ArchivedFile } from "../copies/archive.ts";
import { isAddress, describeDatabase } from "../network/database-url.ts";
import { openDatabase } from "../sql/engine.ts";
import { isFull, isIoFault } from "../sql/faults.ts";
import { readKnown } from "../sql/migrate.ts";
import { quote } from "../text/show-hidden.ts";
import { Interrupted, listenForStop } from "./terminal/ask-to-go-on.ts";
import type { Command, Invocation } from "./terminal/command.ts";
import { printJson, say } from "./terminal/output.ts";

const backupFlags = {
  FILE:
    "contains projects, keys, links, clicks, apps, templates and the bin; plans, jobs, " +
    "approvals, history and secrets; `owner.key` and `http.token`. Keep it private. It does not " +
    "contain exports or files named in other settings, such as the PIN file. For PostgreSQL, use " +
    "pg_dump",
  "--json": "print `{backup}`: its size, time and files",
};

/** All data of a folder in one file. */
export const backup: Command<typeof backupFlags> = {
  usages: {
    "backup FILE": ["copy the data folder into one new file, while Waypost keeps running", run],
  },
  flags: backupFlags,
};

async function run(
  { config, flags, host }: Invocation<typeof backupFlags>,
  file: string,
): Promise<void> {
  if (isAddress(file)) throw new UsageFault("use backup FILE (see waypost --help)");
  requireFolder(config);
  const { data } = config;
  if (listDatabases(data).length === 0) requireData(config);
  checkDataFolder(data);
  if (await lstat(file).catch(() => undefined)) {
    throw new UsageFault(`${quote(file, 200)} already exists. Choose a new name.`);
  }
  const folder = quote(dirname(file), 200);
  if (!existsSync(dirname(file))) {
    throw new UsageFault(`the folder ${folder} does not exist; create it, or choose another`);
  }
  refuseOtherVersions(config);
  const made_at = clock.now();
  const signal = listenForStop(host);
  const files = await write(data, file, { made_at, signal }).catch((error: unknown) => {
    if (signal.aborted) throw new Interrupted("stopped; no backup was written");
    throw explainFault(error, file);
  });
  const { size: bytes } = await stat(file);
  if (flags.json === true) {
    return printJson({ backup: { file, bytes, made_at: new Date(made_at).toISOString(), files } });
  }
  say(`Wrote ${files.join(", ")} to ${quote(file, 200)} (${bytes} bytes).`);
  say("Keep the file private: its keys and secrets give full access to Waypost.");
}

function requireFolder(config: Config): void {
  const url = readDatabaseUrl(config);
  if (url === undefined) return;
  throw new UsageFault(
    `the data is in the database ${describeDatabase(url)}, which \`waypost backup\` cannot copy; ` +
      "use pg_dump, and copy owner.key (waypost help backup-and-upgrade)",
  );
}

/** Each database is copied in one step. The copies are next to the backup until that is written. */
async function write(
  data: string,
  file: string,
  options: Parameters<typeof writeArchive>[2],
): Promise<readonly string[]> {
  const folder = mkdtempSync(`${file}.`);
  try {
    const files: ArchivedFile[] = [];
    for (const known of listDatabases(data)) {
      const path = join(folder, known.file);
      const done = await withFile(data, known, async (store) => {
        const migrations = await readKnown(store, known.migrations);
        await sql`vacuum into ${path}`.execute(store.db);
        return migrations;
      });
      if (done.length > 0) emptyTables(path, known.left ?? []);
      files.push({ name: known.file, path });
      options.signal.throwIfAborted();
    }
    const keys = keptFiles.map((name) => ({ name, path: join(data, name) }));
    files.push(...keys.filter(({ path }) => existsSync(path)));
    await writeWholeFile(file, false, (output) => writeArchive(files, output, options));
    return files.map(({ name }) => name);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What visitors and signed-in people left for some minutes is in no backup, not even as bytes. */
function emptyTables(path: string, tables: readonly string[]): void {
  const database = openDatabase(path);
  database.exec("PRAGMA secure_delete = ON");
  for (const table of tables) database.exec(`DELETE FROM ${table}`);
  database.close();
}

function explainFault(error: unknown, file: string): unknown {
  if (isIoFault(error)) {
    const message = "check the disk of the data folder and the one of";
    return new UsageFault(
      `a disk reports errors; ${message} ${quote(file, 200)}. No backup was written`,
      { cause: error },
    );
  }
  if (!isFull(error) && !isDiskFault(error)) return error;
  const code = isFull(error) ? "ENOSPC" : readCode(error);
  const advice = advices[code] ?? "choose another folder";
  return new UsageFault(`cannot write to ${quote(file, 200)} (${code}); ${advice}`, {
    cause: error,
  });
}

const advices: Readonly<Record<string, string>> = {
  EEXIST: "another process created this file; choose a new name",
  ENOSPC: "the disk is full; free some space, or choose another disk. No backup was written",
  EDQUOT: "your disk quota is used up; free some space, or choose another disk",
  EACCES: "choose a folder that you can write to",
  EROFS: "the disk is read-only; choose another disk",
};
