import { copyFile, lstat, mkdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { explainFileFault, isFileFault, readCode } from "../../app/data/file-fault.ts";
import { writeWholeFile } from "../../app/data/whole-file.ts";
import { UsageFault } from "../../config.ts";
import { quote } from "../../text/show-hidden.ts";

type ClientFile = {
  /** The target of the link, if the client's file is a symbolic link. */
  readonly path: string;
  /** Undefined if the file does not exist yet. */
  readonly text: string | undefined;
};

export async function readClientFile(named: string): Promise<ClientFile> {
  return explainFaults(named, "read", async () => {
    const path = await followLink(named);
    return { path, text: await readText(path) };
  });
}

/** Returns the name of the backup. A new file has no backup. */
export async function replaceClientFile(
  { path, text }: ClientFile,
  changed: string,
): Promise<string | undefined> {
  return explainFaults(path, "written", async () => {
    // The client may have changed its file while the user decided.
    if ((await readText(path)) !== text) {
      const advice = "nothing was written. Run the command again";
      throw refuse(path, `was changed by another process; ${advice}`);
    }
    await mkdir(dirname(path), { recursive: true });
    const mode = text === undefined ? undefined : (await stat(path)).mode & 0o777;
    // Each backup has its own name, so that the user's original is never overwritten.
    const time = new Date().toISOString().replaceAll(/[:.]/g, "-");
    const backup = text === undefined ? undefined : `${path}.waypost-backup-${time}`;
    if (backup !== undefined) await copyFile(path, backup);
    await writeWholeFile(path, true, (output) => pipeline([changed], output), mode);
    return backup;
  });
}

/** Writing to the link's own name would replace the link. */
async function followLink(named: string): Promise<string> {
  const path = await realpath(named).catch(() => undefined);
  if (path !== undefined) return path;
  if ((await lstat(named).catch(() => undefined)) === undefined) return named;
  const fault = "is a symbolic link to a file that does not exist; nothing was changed";
  throw refuse(named, `${fault}. Create the file, or remove the link`);
}

async function readText(path: string): Promise<string | undefined> {
  const bytes = await readFile(path).catch((error: unknown) => {
    if (readCode(error) === "ENOENT") return undefined;
    throw error;
  });
  try {
    return bytes && new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw refuse(path, "is not UTF-8 text; save it as UTF-8 first", error);
  }
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
