import { createHash, type Hash } from "node:crypto";
import { lstat, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { listDatabases, withDatabases } from "../compose/copied-databases.ts";
import { checkDataFolder, readCode } from "../compose/data-folder.ts";
import { clock, refuseOtherVersions, requireData } from "../compose/embedded.ts";
import { isDiskFault, writeWholeFile } from "../compose/whole-file.ts";
import { UsageFault, type Config } from "../config.ts";
import { CopyFault, type CopiedSum } from "../copies/copied-database.ts";
import { countRows, withSnapshots, type Snapshot } from "../copies/snapshots.ts";
import { writeBackup } from "../copies/write-backup.ts";
import { isAddress } from "../network/database-url.ts";
import { quote } from "../text/show-hidden.ts";
import { readSecrets } from "./copies/fill-place.ts";
import {
  describeContents,
  followRows,
  listenForStop,
  presentSums,
  printSums,
  toReadSignal,
} from "./copies/report-copy.ts";
import { refuseEmpty } from "./copies/require-still.ts";
import { Interrupted } from "./terminal/ask-to-go-on.ts";
import type { FlagsOf } from "./terminal/command-list.ts";
import type { FlagValues } from "./terminal/flags.ts";
import { printJson, say } from "./terminal/output.ts";

type BackupOptions = {
  readonly config: Config;
  readonly version: string;
  /** Resolves when the person stops the command. */
  readonly stopped: Promise<void>;
};

type Written = {
  readonly sums: readonly CopiedSum[];
  readonly bytes: number;
  /** Of the file as it lies, as sha256sum tells it. */
  readonly sha256: string;
};

/** `waypost backup FILE`: everything in one file, while other processes go on. */
export async function runBackup(
  options: BackupOptions,
  [file, ...rest]: readonly string[],
  { json }: FlagValues<FlagsOf<"backup">>,
): Promise<void> {
  if (file === undefined || rest.length > 0 || isAddress(file)) {
    throw new UsageFault("use backup FILE (see waypost --help)");
  }
  const { data } = options.config;
  if (listDatabases(options.config).length === 0) requireData(options.config);
  checkDataFolder(data);
  await checkPlace(file);
  await refuseOtherVersions(options.config);
  const made_at = new Date(clock.now()).toISOString();
  const files = readSecrets(data);
  const { sums, bytes, sha256 } = await write(options, file, { made_at, files });
  const named = files.map((kept) => kept.file);
  if (json === true) {
    return printJson({
      backup: { file, bytes, sha256, made_at, files: named, tables: presentSums(sums) },
    });
  }
  printSums(sums);
  const contents = describeContents(sums, named);
  say(`Wrote ${contents} to ${quote(file, 200)} (${bytes} bytes, sha256 ${sha256}).`);
  say("Keep the file private: its keys and secrets give full access to Waypost.");
}

async function write(
  { config, version, stopped }: BackupOptions,
  file: string,
  head: Pick<Contents, "made_at" | "files">,
): Promise<Written> {
  const signal = listenForStop(stopped);
  try {
    return await withDatabases(config, listDatabases(config), (databases) =>
      withSnapshots(databases, { signal: toReadSignal(signal) }, (snapshots) =>
        writeSnapshots(file, { ...head, version, snapshots }, signal),
      ),
    );
  } catch (error) {
    if (signal.aborted) throw new Interrupted("stopped; no backup was written");
    throw explainFault(error, file);
  }
}

type Contents = Omit<Parameters<typeof writeBackup>[0], "follow"> & {
  readonly snapshots: readonly Snapshot[];
};

/** A name may be mistyped: who relies on a copy of nothing has none. */
function requireTables(snapshots: readonly Snapshot[]): void {
  // A folder was looked at before it was opened, and a gateway's may have no tables yet.
  const shared = snapshots.filter(({ database }) => database.sql.engine === "postgres");
  if (shared.length > 0 && shared.every(({ tables }) => tables.length === 0)) throw refuseEmpty();
}

async function writeSnapshots(
  file: string,
  contents: Contents,
  signal: AbortSignal,
): Promise<Written> {
  requireTables(contents.snapshots);
  const progress = followRows(await countRows(contents.snapshots));
  let sums: readonly CopiedSum[] = [];
  async function* writePieces() {
    sums = yield* writeBackup({ ...contents, follow: progress.follow });
  }
  const pieces = writePieces();
  const whole = createHash("sha256");
  let bytes = 0;
  try {
    await writeWholeFile(file, false, (output) => {
      const counted = countBytes(whole, (size) => (bytes += size));
      return pipeline(Readable.from(pieces), createGzip(), counted, output, { signal });
    });
  } finally {
    // Where nothing can be written, nothing is read any more before the databases are let go.
    await pieces.return().catch(() => undefined);
    progress.end();
  }
  return { sums, bytes, sha256: whole.digest("hex") };
}

function countBytes(whole: Hash, add: (size: number) => void): Transform {
  return new Transform({
    transform: (chunk: Buffer, _, done) => {
      whole.update(chunk);
      add(chunk.length);
      done(null, chunk);
    },
  });
}

/** Refused before anything is read. */
async function checkPlace(file: string): Promise<void> {
  const found = await lstat(file).catch(() => undefined);
  if (found !== undefined) {
    throw new UsageFault(`${quote(file, 200)} already exists. Choose a new name.`);
  }
  const folder = dirname(file);
  const isFolder = await stat(folder).then(
    (one) => one.isDirectory(),
    () => false,
  );
  if (isFolder) return;
  throw new UsageFault(
    `the folder ${quote(folder, 200)} does not exist; create it, or choose another`,
  );
}

function explainFault(error: unknown, file: string): unknown {
  if (error instanceof CopyFault) return new UsageFault(error.message, { cause: error });
  if (!isDiskFault(error)) return error;
  const code = readCode(error);
  const advice = advices[code] ?? "choose another folder";
  return new UsageFault(`${quote(file, 200)} cannot be written (${code}); ${advice}`, {
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
