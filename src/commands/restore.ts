import { open, stat, type FileHandle } from "node:fs/promises";
import { explainFileFault } from "../app/data/file-fault.ts";
import { fillDataFolder } from "../app/data/fill-data-folder.ts";
import { explainUncopied, requireFiles } from "../app/process/explain-copies.ts";
import { UsageFault } from "../config.ts";
import { extractBackup } from "../copies/backup.ts";
import { CopyFault } from "../copies/copy-fault.ts";
import type { EntryHeader } from "../copies/ustar.ts";
import { isAddress } from "../network/database-url.ts";
import { quote } from "../text/show-hidden.ts";
import { Interrupted, listenForStop } from "./terminal/ask-to-go-on.ts";
import type { Command, Invocation } from "./terminal/command.ts";
import { printJson, say } from "./terminal/output.ts";

/** `waypost restore` restores a backup into an empty data folder. */

const restoreFlags = {
  "--json": "print `{restore}`: the folder, the backup's time and files",
};

export const restore: Command<typeof restoreFlags> = {
  usages: { "restore FILE": ["restore a backup into an empty data folder", run] },
  flags: restoreFlags,
  notes: "`--data` names an empty folder. If the restore is interrupted, run it again.",
};

async function run(
  { config, flags, runtime }: Invocation<typeof restoreFlags>,
  file: string,
): Promise<void> {
  if (isAddress(file)) throw new UsageFault("use restore FILE (see waypost --help)");
  requireFiles(
    config,
    "restore a database with pg_restore, or restore a backup into a folder without that setting, " +
      "and run waypost migrate",
  );
  const { data } = config;
  const signal = listenForStop(runtime);
  const handle = await openFile(file);
  let headers: readonly EntryHeader[] = [];
  try {
    await fillDataFolder(data, async (folder) => {
      headers = await extractBackup(handle.createReadStream(), folder, signal);
    });
  } catch (error) {
    if (signal.aborted) throw new Interrupted("stopped; nothing was copied");
    if (!(error instanceof CopyFault)) throw explainUncopied(error, data);
    const message = `${quote(file, 200)} cannot be restored: ${error.message}. Nothing was written`;
    throw new UsageFault(message, { cause: error });
  } finally {
    await handle.close();
  }
  const files = headers.map(({ name }) => name);
  const made_at = new Date((headers[0]?.mtime_s ?? 0) * 1000).toISOString();
  if (flags.json === true) return printJson({ restore: { data, made_at, files } });
  say(`Restored ${files.join(", ")} to ${quote(data, 200)}, as of ${made_at}.`);
}

async function openFile(file: string): Promise<FileHandle> {
  try {
    // Opens only regular files, because opening a pipe blocks until something writes to it.
    if ((await stat(file)).isFile()) return await open(file, "r");
  } catch (error) {
    const fault = `cannot be read: ${explainFileFault(error)}`;
    throw new UsageFault(`${quote(file, 200)} ${fault}`, { cause: error });
  }
  throw new UsageFault(`${quote(file, 200)} is not a file; use a file that waypost backup wrote`);
}
