import { copyFile, lstat, mkdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { explainFileFault, isFileFault, readCode } from "../../app/data/file-fault.ts";
import { writeWholeFile } from "../../app/data/whole-file.ts";
import { UsageFault } from "../../config.ts";
import { quote } from "../../text/show-hidden.ts";

/** Reads and replaces the settings file of an MCP client, and keeps a backup. */

type ClientFile = {
  /** The path of the file, with symbolic links resolved. */
  readonly path: string;
  readonly text: string | undefined;
};

export async function readClientFile(file: string): Promise<ClientFile> {
  const path = await followLink(file);
  return { path, text: await readText(path) };
}

/** Replaces the file, and returns the path of its backup. For a new file, returns undefined. */
export async function replaceClientFile(
  { path, text }: ClientFile,
  changed: string,
): Promise<string | undefined> {
  // The client may have changed its file while the user decided.
  if ((await readText(path)) !== text) {
    const advice = "nothing was written. Run the command again";
    throw refuse(path, `was changed by another process; ${advice}`);
  }
  try {
    await mkdir(dirname(path), { recursive: true });
    const mode = text === undefined ? undefined : (await stat(path)).mode & 0o777;
    // A backup never replaces an earlier one, which may be the user's original.
    const time = new Date().toISOString().replaceAll(/[:.]/g, "-");
    const backup = text === undefined ? undefined : `${path}.waypost-backup-${time}`;
    if (backup !== undefined) await copyFile(path, backup);
    await writeWholeFile(path, true, (output) => pipeline([changed], output), mode);
    return backup;
  } catch (error) {
    throw explainFault(path, "written", error);
  }
}

/** Resolves a symbolic link, so that writing does not replace the link with a file. */
async function followLink(file: string): Promise<string> {
  const path = await realpath(file).catch(() => undefined);
  if (path !== undefined) return path;
  if ((await lstat(file).catch(() => undefined)) === undefined) return file;
  const fault = "is a symbolic link to a file that does not exist; nothing was changed";
  throw refuse(file, `${fault}. Create the file, or remove the link`);
}

async function readText(path: string): Promise<string | undefined> {
  const bytes = await readFile(path).catch((error: unknown) => {
    if (readCode(error) === "ENOENT") return undefined;
    throw explainFault(path, "read", error);
  });
  try {
    return bytes && new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw refuse(path, "is not UTF-8 text; save it as UTF-8 first", error);
  }
}

function explainFault(path: string, done: "read" | "written", error: unknown): unknown {
  if (!isFileFault(error)) return error;
  const fault = `cannot be ${done}: ${explainFileFault(error)}`;
  return refuse(path, `${fault}; nothing was changed`, error);
}

function refuse(path: string, fault: string, cause?: unknown): UsageFault {
  return new UsageFault(`${quote(path, 200)} ${fault}`, { cause });
}
