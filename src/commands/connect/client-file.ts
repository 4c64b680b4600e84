import { constants } from "node:fs";
import { access, lstat, mkdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { readCode } from "../../app/data/data-folder.ts";
import { isDiskFault, writeWholeFile } from "../../app/data/whole-file.ts";
import { UsageFault } from "../../config.ts";
import { quote } from "../../text/show-hidden.ts";

const mostBytes = 20_000_000;

/** A client's file as it is on the disk. */
export type ClientFile = {
  /** The target, where the client's file is a symbolic link. */
  readonly path: string;
  /** Undefined if the file does not exist yet. */
  readonly bytes: Buffer | undefined;
  readonly mode: number | undefined;
  readonly byteOrderMark: string;
  readonly text: string;
};

export async function readClientFile(named: string): Promise<ClientFile> {
  return explainFaults(named, "read", async () => {
    const path = await followLink(named);
    const bytes = await readExisting(path);
    const mode = bytes === undefined ? undefined : (await stat(path)).mode & 0o7777;
    const whole = decode(path, bytes);
    const byteOrderMark = whole.startsWith("\ufeff") ? "\ufeff" : "";
    return { path, bytes, mode, byteOrderMark, text: whole.slice(byteOrderMark.length) };
  });
}

/** Replacing a read-only file is possible, but against its owner's intention. */
export async function requireWritable({ path, mode }: ClientFile): Promise<void> {
  if (mode === undefined) return;
  const canWrite = await access(path, constants.W_OK).then(
    () => (mode & 0o200) !== 0,
    () => false,
  );
  if (!canWrite) throw refuse(path, "is read-only; nothing was changed. Make it writable first");
}

/** Returns the name of the backup; a new file has none. */
export async function replaceClientFile(
  { path, bytes, mode, byteOrderMark }: ClientFile,
  text: string,
): Promise<string | undefined> {
  return explainFaults(path, "written", async () => {
    // The client may have written its file while the person decided.
    const now = await readExisting(path);
    if (!isSameBytes(now, bytes)) {
      throw refuse(
        path,
        "was changed by another process; nothing was written. Run the command again",
      );
    }
    await mkdir(dirname(path), { recursive: true });
    // A name of its own, so that a later change never replaces the user's original file.
    const time = new Date().toISOString().replaceAll(/[:.]/g, "-");
    const backup = `${path}.waypost-backup-${time}`;
    if (bytes !== undefined) await writeBytes(backup, bytes, mode);
    await writeBytes(path, Buffer.from(byteOrderMark + text), mode);
    return bytes && backup;
  });
}

/** Replacing the file by its own name would replace the link. */
async function followLink(named: string): Promise<string> {
  try {
    return await realpath(named);
  } catch (error) {
    if (readCode(error) !== "ENOENT") throw error;
    const isLink = await lstat(named).catch(() => undefined);
    if (isLink === undefined) return named;
    const fault = "is a symbolic link to a file that does not exist";
    throw refuse(named, `${fault}; create the file, or remove the link`, error);
  }
}

async function readExisting(path: string): Promise<Buffer | undefined> {
  const found = await stat(path).catch((error: unknown) => {
    if (readCode(error) !== "ENOENT") throw error;
  });
  if (found === undefined) return undefined;
  // Reading a pipe or a device might never end.
  if (found.isFile() && found.size <= mostBytes) return readFile(path);
  throw refuse(path, "is not a settings file; nothing was changed");
}

function decode(path: string, bytes: Buffer | undefined): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw refuse(path, "is not UTF-8 text; save it as UTF-8 first", error);
  }
}

function isSameBytes(one: Buffer | undefined, other: Buffer | undefined): boolean {
  return one === undefined || other === undefined ? one === other : one.equals(other);
}

function writeBytes(path: string, bytes: Buffer, mode?: number): Promise<void> {
  return writeWholeFile(path, true, (output) => pipeline(Readable.from([bytes]), output), mode);
}

async function explainFaults<Result>(
  path: string,
  done: "read" | "written",
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!isDiskFault(error)) throw error;
    throw refuse(path, `cannot be ${done} (${readCode(error)}); nothing was changed`, error);
  }
}

function refuse(path: string, fault: string, cause?: unknown): UsageFault {
  return new UsageFault(`${quote(path, 200)} ${fault}`, { cause });
}
