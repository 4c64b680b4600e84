import { open, stat, type FileHandle } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { copiedTables } from "../compose/copied-databases.ts";
import { keptFiles, readCode } from "../compose/data-folder.ts";
import { readDatabaseUrl } from "../compose/secrets.ts";
import { UsageFault, type Config } from "../config.ts";
import { checkBackup, type Checked } from "../copies/check-backup.ts";
import { CopyFault, databaseNames } from "../copies/copied-database.ts";
import { restoreBackup } from "../copies/restore-backup.ts";
import { isAddress } from "../network/database-url.ts";
import { describeDatabase } from "../sql/postgres.ts";
import { quote } from "../text/show-hidden.ts";
import { fillPlace } from "./copies/fill-place.ts";
import {
  addRows,
  describeContents,
  followRows,
  listenForStop,
  presentSums,
  printSums,
} from "./copies/report-copy.ts";
import type { FlagsOf } from "./terminal/command-list.ts";
import type { FlagValues } from "./terminal/flags.ts";
import { printJson, say } from "./terminal/output.ts";

type RestoreOptions = {
  readonly config: Config;
  /** Resolves when the person stops the command. */
  readonly stopped: Promise<void>;
};

/** `waypost restore FILE`: what a backup holds, into a folder that holds nothing. */
export async function runRestore(
  options: RestoreOptions,
  [file, ...rest]: readonly string[],
  { json }: FlagValues<FlagsOf<"restore">>,
): Promise<void> {
  if (file === undefined || rest.length > 0 || isAddress(file)) {
    throw new UsageFault("use restore FILE (see waypost --help)");
  }
  const { data } = options.config;
  const checked = await withFile(file, async (handle) => {
    const found = await check(handle, file);
    await restore(options, handle, found);
    return found;
  });
  const { head, files, sums } = checked;
  const named = files.map((kept) => kept.file);
  const url = readDatabaseUrl(options.config);
  const database = url === undefined ? undefined : describeDatabase(url);
  const { version, made_at } = head;
  if (json === true) {
    return printJson({
      restore: { data, database, version, made_at, files: named, tables: presentSums(sums) },
    });
  }
  printSums(sums);
  const folder = quote(data, 200);
  if (database === undefined) {
    return say(`Restored ${describeContents(sums, named)} to ${folder}, as of ${made_at}.`);
  }
  const also = named.length === 0 ? "" : `, and ${named.join(", ")} to ${folder}`;
  say(`Restored ${describeContents(sums, [])} to ${database}${also}, as of ${made_at}.`);
}

/** One file from the first look at it to the last: another may get its name meanwhile. */
async function withFile<Result>(
  file: string,
  work: (handle: FileHandle) => Promise<Result>,
): Promise<Result> {
  let handle: FileHandle;
  try {
    // To open a pipe would wait for somebody who writes.
    if (!(await stat(file)).isFile()) throw refuseOther(file);
    handle = await open(file, "r");
  } catch (error) {
    if (error instanceof UsageFault) throw error;
    throw new UsageFault(`${quote(file, 200)} ${explainUnread(error)}`, {
      cause: error,
    });
  }
  try {
    return await work(handle);
  } finally {
    await handle.close();
  }
}

function explainUnread(error: unknown): string {
  const code = readCode(error);
  if (code === "ENOENT") return "does not exist; use a file that waypost backup wrote";
  if (code === "EACCES") return "cannot be read by this user; change its permissions";
  return `cannot be read (${code})`;
}

/** The lines of the file, from its beginning. */
function unpack(handle: FileHandle): AsyncIterable<Buffer> {
  const packed = handle.createReadStream({ start: 0, autoClose: false });
  const unpacked = createGunzip();
  // Its errors are the reader's as well.
  void pipeline(packed, unpacked).catch(() => undefined);
  return unpacked;
}

function refuseOther(file: string): UsageFault {
  return new UsageFault(`${quote(file, 200)} is not a file; use a file that waypost backup wrote`);
}

/** Before anything is written: a file that is not whole changes nothing. */
async function check(handle: FileHandle, file: string): Promise<Checked> {
  try {
    return await checkBackup(unpack(handle), { databases: copiedTables, files: keptFiles });
  } catch (error) {
    if (!(error instanceof CopyFault)) throw error;
    const message = `${quote(file, 200)} cannot be restored: ${error.message}. Nothing was written`;
    throw new UsageFault(message, { cause: error });
  }
}

async function restore(
  { config: place, stopped }: RestoreOptions,
  handle: FileHandle,
  checked: Checked,
): Promise<void> {
  const signal = listenForStop(stopped);
  const names = databaseNames.filter((name) => checked.head.databases[name] !== undefined);
  const progress = followRows(addRows(checked.sums));
  try {
    await fillPlace({ place, names, secrets: checked.files, signal }, (target) =>
      restoreBackup({
        ...target,
        checked,
        chunks: unpack(handle),
        follow: progress.follow,
        signal,
      }),
    );
  } finally {
    progress.end();
  }
}
