import { mkdtempSync } from "node:fs";
import { lstat, rm, stat } from "node:fs/promises";
import { checkDataFolder } from "../app/data/data-folder.ts";
import { writeWholeFile } from "../app/data/whole-file.ts";
import { clock, refuseOtherVersions, requireData } from "../app/process/embedded.ts";
import { explainUncopied, requireFiles } from "../app/process/explain-copies.ts";
import { UsageFault } from "../config.ts";
import { writeArchive } from "../copies/archive.ts";
import { copyDatabases } from "../copies/backup.ts";
import { listDatabases } from "../copies/data-files.ts";
import { isAddress } from "../network/database-url.ts";
import { quote } from "../text/show-hidden.ts";
import { Interrupted, listenForStop } from "./terminal/ask-to-go-on.ts";
import type { Command, Invocation } from "./terminal/command.ts";
import { printJson, say } from "./terminal/output.ts";

/** `waypost backup` copies the data folder into one file. */

const backupFlags = {
  FILE:
    "contains projects, keys, links, clicks, apps, templates and the bin; plans, jobs, " +
    "approvals, history and secrets; `owner.key` and `http.token`. Keep it private. It does not " +
    "contain exports or files named in other settings, such as the PIN file. For PostgreSQL, use " +
    "pg_dump",
  "--json": "print `{backup}`: its size, time and files",
};

export const backup: Command<typeof backupFlags> = {
  usages: {
    "backup FILE": ["copy the data folder into one new file, while Waypost keeps running", run],
  },
  flags: backupFlags,
};

async function run(
  { config, flags, runtime }: Invocation<typeof backupFlags>,
  file: string,
): Promise<void> {
  if (isAddress(file)) throw new UsageFault("use backup FILE (see waypost --help)");
  requireFiles(config, "use pg_dump, and copy owner.key");
  const { data } = config;
  if (listDatabases(data).length === 0) requireData(config);
  checkDataFolder(data);
  if (await lstat(file).catch(() => undefined)) {
    throw new UsageFault(`${quote(file, 200)} already exists. Choose a new name.`);
  }
  refuseOtherVersions(config);
  const made_at = clock.now();
  const signal = listenForStop(runtime);
  const files = await write(data, file, { made_at, signal }).catch((error: unknown) => {
    if (signal.aborted) throw new Interrupted("stopped; no backup was written");
    throw explainUncopied(error, file);
  });
  const { size: bytes } = await stat(file);
  if (flags.json === true) {
    return printJson({ backup: { file, bytes, made_at: new Date(made_at).toISOString(), files } });
  }
  say(`Wrote ${files.join(", ")} to ${quote(file, 200)} (${bytes} bytes).`);
  say("Keep the file private: its keys and secrets give full access to Waypost.");
}

/** Until the backup is complete, copies of the databases are in a temporary folder next to it. */
async function write(
  data: string,
  file: string,
  options: Parameters<typeof writeArchive>[2],
): Promise<readonly string[]> {
  const folder = mkdtempSync(`${file}.`);
  try {
    const files = await copyDatabases(data, folder, options.signal);
    await writeWholeFile(file, false, (output) => writeArchive(files, output, options));
    return files.map(({ name }) => name);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
