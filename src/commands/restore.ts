import { randomUUID } from "node:crypto";
import { open, stat, type FileHandle } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import {
  copiedTables,
  listDatabases,
  requireOwnFolder,
  withDatabases,
} from "../compose/copied-databases.ts";
import {
  keepSecrets,
  keptFiles,
  listData,
  prepareDataFolder,
  readCode,
  removeSecrets,
} from "../compose/data-folder.ts";
import { clock } from "../compose/embedded.ts";
import { isDiskFault } from "../compose/whole-file.ts";
import { UsageFault, type Config } from "../config.ts";
import { checkBackup, type Checked } from "../copies/check-backup.ts";
import {
  CopyFault,
  databaseNames,
  type CopiedDatabase,
  type DatabaseName,
} from "../copies/copied-database.ts";
import { isHalfFilled } from "../copies/fill-database.ts";
import { restoreBackup } from "../copies/restore-backup.ts";
import { Duplicate, isFull } from "../sql/faults.ts";
import { quote } from "../text/show-hidden.ts";
import { addRows, followRows, presentSums, printSums } from "./copies/report-copy.ts";
import { Interrupted } from "./terminal/ask-to-go-on.ts";
import type { FlagValues } from "./terminal/flags.ts";
import { printJson, say } from "./terminal/output.ts";

export const restoreFlags = { json: { type: "boolean" } } as const;

type RestoreOptions = {
  readonly config: Config;
  /** Resolves when the person stops the command. */
  readonly stopped: Promise<void>;
};

/** `waypost restore FILE`: what a backup holds, into a folder that holds nothing. */
export async function runRestore(
  options: RestoreOptions,
  [file, ...rest]: readonly string[],
  { json }: FlagValues<typeof restoreFlags>,
): Promise<void> {
  if (file === undefined || rest.length > 0) {
    throw new UsageFault("use restore FILE (waypost --help)");
  }
  const { data } = options.config;
  requireOwnFolder(options.config);
  const checked = await withFile(file, async (handle) => {
    const found = await check(handle, file);
    await restore(options, handle, found);
    return found;
  });
  const { head, files, sums } = checked;
  const named = files.map((kept) => kept.file);
  const { version, made_at } = head;
  if (json === true) {
    return printJson({
      restore: { data, version, made_at, files: named, tables: presentSums(sums) },
    });
  }
  printSums(sums);
  const also = named.length === 0 ? "" : ` and ${named.join(", ")}`;
  say(`${addRows(sums)} rows${also} of ${made_at} are in ${quote(data, 200)}.`);
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
    throw new UsageFault(`${quote(file, 200)} cannot be read (${readCode(error)})`, {
      cause: error,
    });
  }
  try {
    return await work(handle);
  } finally {
    await handle.close();
  }
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
  return new UsageFault(`${quote(file, 200)} is no file; name the one that backup wrote`);
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
  { config: { data }, stopped }: RestoreOptions,
  handle: FileHandle,
  checked: Checked,
): Promise<void> {
  const stop = new AbortController();
  void stopped.then(() => stop.abort());
  prepareDataFolder(data);
  const names = findTargets(data, checked);
  const progress = followRows(addRows(checked.sums));
  try {
    await withDatabases(data, names, async (databases) => {
      await requireNoSecrets(data, databases);
      await restoreBackup({
        databases,
        checked,
        chunks: unpack(handle),
        claim: { id: randomUUID(), now: clock.now },
        writeFiles: () => keepSecrets(data, checked.files),
        removeFiles: () => removeSecrets(data),
        follow: progress.follow,
        signal: stop.signal,
      });
    });
  } catch (error) {
    if (stop.signal.aborted) throw new Interrupted("stopped; nothing was restored");
    throw explainFault(error, data);
  } finally {
    progress.end();
  }
}

/** The backup's databases, and any that an earlier try has left in the folder. */
function findTargets(data: string, { head }: Checked): readonly DatabaseName[] {
  const present = listDatabases(data);
  const found = listData(data);
  const isTried = present.length > 0;
  const foreign = found.find((name) => !isTried || !keptFiles.some((kept) => kept === name));
  if (foreign !== undefined) throw refuseFull(data, foreign);
  return databaseNames.filter(
    (name) => head.databases[name] !== undefined || present.includes(name),
  );
}

/** Where they are not of a try that was ended, they are somebody's. */
async function requireNoSecrets(data: string, databases: readonly CopiedDatabase[]): Promise<void> {
  const [secret] = listData(data);
  const last = databases.at(-1);
  if (secret === undefined || (last !== undefined && (await isHalfFilled(last)))) return;
  throw refuseFull(data, secret);
}

function refuseFull(data: string, name: string): UsageFault {
  const advice = "restore into an empty folder (--data)";
  return new UsageFault(`${quote(data, 200)} is not empty, it has ${quote(name)}: ${advice}`);
}

function explainFault(error: unknown, data: string): unknown {
  const place = quote(data, 200);
  if (error instanceof CopyFault) {
    const advice = "restore into an empty folder (--data)";
    return new UsageFault(`nothing was restored into ${place}: ${error.message}; ${advice}`, {
      cause: error,
    });
  }
  if (error instanceof Duplicate) {
    const message = "the backup has two rows where there can be one, so Waypost did not write it";
    return new UsageFault(`nothing was restored into ${place}: ${message}`, { cause: error });
  }
  if (!isFull(error) && !isDiskFault(error)) return error;
  const code = isFull(error) ? "the disk is full" : readCode(error);
  const advice = "nothing was restored; make room, and run the same command again";
  return new UsageFault(`${place} cannot be written (${code}): ${advice}`, { cause: error });
}
