import { lstat, mkdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { explainFileFault, isFileFault, readCode } from "../../app/data/file-fault.ts";
import { writeWholeFile } from "../../app/data/whole-file.ts";
import { UsageFault } from "../../config.ts";
import { quote } from "../../text/show-hidden.ts";

/** A client's file as it is on the disk. */
export type ClientFile = {
  /** The target, if the client's file is a symbolic link. */
  readonly path: string;
  /** Undefined if the file does not exist yet. */
  readonly bytes: Buffer | undefined;
  readonly text: string;
};

export async function readClientFile(named: string): Promise<ClientFile> {
  return explainFaults(named, "read", async () => {
    const path = await followLink(named);
    const bytes = await readExisting(path);
    return { path, bytes, text: decode(path, bytes) };
  });
}

/** Returns the name of the backup; a new file has none. */
export async function replaceClientFile(
  { path, bytes }: ClientFile,
  text: string,
): Promise<string | undefined> {
  return explainFaults(path, "written", async () => {
    // The client may have written its file while the person decided.
    const now = await readExisting(path);
    if ((now ?? "").toString() !== (bytes ?? "").toString()) {
      throw refuse(
        path,
        "was changed by another process; nothing was written. Run the command again",
      );
    }
    await mkdir(dirname(path), { recursive: true });
    const mode = bytes && (await stat(path)).mode & 0o777;
    // A name of its own, so that a later change never replaces the user's original file.
    const time = new Date().toISOString().replaceAll(/[:.]/g, "-");
    const backup = `${path}.waypost-backup-${time}`;
    if (bytes !== undefined) await writeBytes(backup, bytes, mode);
    await writeBytes(path, Buffer.from(text), mode);
    return bytes && backup;
  });
}

/** Replacing the file by its own name would replace the link. */
async function followLink(named: string): Promise<string> {
  const path = await realpath(named).catch(() => undefined);
  if (path !== undefined) return path;
  if ((await lstat(named).catch(() => undefined)) === undefined) return named;
  const fault = "is a symbolic link to a file that does not exist; nothing was changed";
  throw refuse(named, `${fault}. Create the file, or remove the link`);
}

async function readExisting(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (readCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

function decode(path: string, bytes: Buffer | undefined): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw refuse(path, "is not UTF-8 text; save it as UTF-8 first", error);
  }
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
    if (!isFileFault(error)) throw error;
    const fault = `cannot be ${done}: ${explainFileFault(error)}`;
    throw refuse(path, `${fault}; nothing was changed`, error);
  }
}

function refuse(path: string, fault: string, cause?: unknown): UsageFault {
  return new UsageFault(`${quote(path, 200)} ${fault}`, { cause });
}
