import { open, stat, type FileHandle } from "node:fs/promises";
import {
  knownDatabases,
  listDatabases,
  withFile,
  type KnownDatabase,
} from "../app/process/copied-databases.ts";
import { keptFiles, readCode } from "../app/data/data-folder.ts";
import { fillDataFolder } from "../app/data/fill-data-folder.ts";
import { readDatabaseUrl } from "../app/data/secrets.ts";
import { UsageFault, type Config } from "../config.ts";
import { extractArchive, foreign } from "../copies/archive.ts";
import { CopyFault } from "../copies/copy-fault.ts";
import type { EntryHeader } from "../copies/ustar.ts";
import { isAddress, describeDatabase } from "../network/database-url.ts";
import { isFull, isIoFault, StoreUnusable } from "../sql/faults.ts";
import { readKnown } from "../sql/migrate.ts";
import { quote } from "../text/show-hidden.ts";
import { explainUnfilled } from "../app/process/explain-unfilled.ts";
import { Interrupted, listenForStop } from "./terminal/ask-to-go-on.ts";
import type { Command, Invocation } from "./terminal/command.ts";
import { printJson, say } from "./terminal/output.ts";

const restoreFlags = {
  "--json": "print `{restore}`: the folder, the backup's time and files",
};

export const restore: Command<typeof restoreFlags> = {
  usages: { "restore FILE": ["restore a backup into an empty data folder", run] },
  flags: restoreFlags,
  notes: "`--data` names an empty folder. If the restore is interrupted, run it again.",
};

async function run(
  { config, flags, host }: Invocation<typeof restoreFlags>,
  file: string,
): Promise<void> {
  if (isAddress(file)) throw new UsageFault("use restore FILE (see waypost --help)");
  requireFolder(config);
  const { data } = config;
  const signal = listenForStop(host);
  const headers = await extract(file, data, signal).catch((error: unknown) => {
    if (signal.aborted) throw new Interrupted("stopped; nothing was copied");
    if (!(error instanceof CopyFault)) throw explainUnfilled(error, data);
    const message = `${quote(file, 200)} cannot be restored: ${error.message}. Nothing was written`;
    throw new UsageFault(message, { cause: error });
  });
  const files = headers.map(({ name }) => name);
  const made_at = new Date((headers[0]?.mtime_s ?? 0) * 1000).toISOString();
  if (flags.json === true) return printJson({ restore: { data, made_at, files } });
  say(`Restored ${files.join(", ")} to ${quote(data, 200)}, as of ${made_at}.`);
}

function requireFolder(config: Config): void {
  const url = readDatabaseUrl(config);
  if (url === undefined) return;
  throw new UsageFault(
    `\`waypost restore\` fills a folder, but the settings name ${describeDatabase(url)}; ` +
      "restore a database with pg_restore, or restore a backup into a folder without that " +
      "setting, and run waypost migrate (waypost help backup-and-upgrade)",
  );
}

async function extract(
  file: string,
  data: string,
  signal: AbortSignal,
): Promise<readonly EntryHeader[]> {
  const handle = await openFile(file);
  let headers: readonly EntryHeader[] = [];
  try {
    await fillDataFolder(data, async (folder) => {
      headers = await extractArchive(handle.createReadStream(), folder, { largest, signal });
      const databases = listDatabases(folder);
      if (databases.length === 0) throw new CopyFault(foreign);
      for (const known of databases) await checkDatabase(folder, known);
    });
    return headers;
  } finally {
    await handle.close();
  }
}

const longestKey = 4096;
const largest = new Map<string, number>([
  ...knownDatabases.map(({ file }) => [file, Infinity] as const),
  ...keptFiles.map((name) => [name, longestKey] as const),
]);

async function openFile(file: string): Promise<FileHandle> {
  try {
    // Opening a pipe would wait for a writer.
    if ((await stat(file)).isFile()) return await open(file, "r");
  } catch (error) {
    throw new UsageFault(`${quote(file, 200)} ${explainUnread(error)}`, { cause: error });
  }
  throw new UsageFault(`${quote(file, 200)} is not a file; use a file that waypost backup wrote`);
}

function explainUnread(error: unknown): string {
  const code = readCode(error);
  if (code === "ENOENT") return "does not exist; use a file that waypost backup wrote";
  if (code === "EACCES") return "cannot be read by this user; change its permissions";
  return `cannot be read (${code})`;
}

/** Checks every page of it, and whether this version can read the tables. */
async function checkDatabase(folder: string, known: KnownDatabase): Promise<void> {
  const requireVersion: Parameters<typeof withFile>[2] = (store) =>
    readKnown(store, known.migrations).catch((error: unknown) => {
      throw explainUnusable(error, "another version of Waypost made it; use that version");
    });
  await withFile(folder, known, requireVersion, true).catch((error: unknown) => {
    throw explainUnusable(error, `its ${known.file} is damaged or not Waypost's`);
  });
}

function explainUnusable(error: unknown, message: string): unknown {
  if (!(error instanceof StoreUnusable)) return error;
  const isOfDisk = isFull(error.cause) || isIoFault(error.cause);
  return isOfDisk ? error.cause : new CopyFault(message, { cause: error });
}
