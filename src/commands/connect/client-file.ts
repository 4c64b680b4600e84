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
  try {
    const path = await followLink(named);
    const bytes = await readExisting(path);
    const mode = bytes === undefined ? undefined : (await stat(path)).mode & 0o7777;
    const whole = decode(path, bytes);
    const byteOrderMark = whole.startsWith("\ufeff") ? "\ufeff" : "";
    return { path, bytes, mode, byteOrderMark, text: whole.slice(byteOrderMark.length) };
  } catch (error) {
    throw explainFault(error, named, "read");
  }
}

/** A read-only file could be replaced by another one, but its owner does not want that. */
export async function requireWritable({ path, mode }: ClientFile): Promise<void> {
  if (mode === undefined) return;
  const canWrite = await access(path, constants.W_OK).then(
    () => (mode & 0o200) !== 0,
    () => false,
  );
  if (canWrite) return;
  throw new UsageFault(
    `${quote(path, 200)} is read-only; nothing was changed. Make it writable first`,
  );
}

/** Returns the name of the backup; a new file has none. */
export async function replaceClientFile(
  file: ClientFile,
  text: string,
): Promise<string | undefined> {
  const { path, bytes, mode, byteOrderMark } = file;
  try {
    await requireUnchanged(file);
    if (bytes === undefined) {
      await mkdir(dirname(path), { recursive: true });
      await writeBytes(path, Buffer.from(text));
      return undefined;
    }
    // A name of its own, so that a later change never replaces the user's original file.
    const time = new Date().toISOString().replaceAll(/[:.]/g, "-");
    const backup = `${path}.waypost-backup-${time}`;
    await writeBytes(backup, bytes, mode);
    await writeBytes(path, Buffer.from(byteOrderMark + text), mode);
    return backup;
  } catch (error) {
    throw explainFault(error, path, "written");
  }
}

/** A file replaced by its name would replace the link. */
async function followLink(named: string): Promise<string> {
  try {
    return await realpath(named);
  } catch (error) {
    if (readCode(error) !== "ENOENT") throw error;
    const found = await lstat(named).catch(() => undefined);
    if (found === undefined) return named;
    const fault = `${quote(named, 200)} is a symbolic link to a file that does not exist`;
    throw new UsageFault(`${fault}; create the file, or remove the link`, { cause: error });
  }
}

async function readExisting(path: string): Promise<Buffer | undefined> {
  try {
    const found = await stat(path);
    // To read a pipe or a device could never end.
    if (!found.isFile() || found.size > mostBytes) {
      throw new UsageFault(`${quote(path, 200)} is not a settings file; nothing was changed`);
    }
    return await readFile(path);
  } catch (error) {
    if (readCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

function decode(path: string, bytes: Buffer | undefined): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new UsageFault(`${quote(path, 200)} is not UTF-8 text; save it as UTF-8 first`, {
      cause: error,
    });
  }
}

/** The client writes its file as well, and may have done so while a person thought. */
async function requireUnchanged({ path, bytes }: ClientFile): Promise<void> {
  const now = await readExisting(path);
  const isSame = bytes === undefined ? now === undefined : now?.equals(bytes) === true;
  if (isSame) return;
  throw new UsageFault(
    `${quote(path, 200)} was changed by another process; nothing was written. ` +
      "Run the command again",
  );
}

function writeBytes(path: string, bytes: Buffer, mode?: number): Promise<void> {
  return writeWholeFile(path, true, (output) => pipeline(Readable.from([bytes]), output), mode);
}

function explainFault(error: unknown, path: string, done: "read" | "written"): unknown {
  if (!isDiskFault(error)) return error;
  const fault = `${quote(path, 200)} cannot be ${done} (${readCode(error)}); nothing was changed`;
  return new UsageFault(fault, { cause: error });
}
