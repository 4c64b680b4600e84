import { randomUUID } from "node:crypto";
import { chmod, lstat, mkdir, open, readdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";

/** Saves exports as private files for clients on this machine. Removes them after an hour. */

const lasts_ms = 60 * 60_000;

export async function saveExportFile(
  data: string,
  type: "csv" | "json",
  texts: AsyncIterable<string>,
): Promise<string> {
  const folder = findFolder(data);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  const path = join(folder, `${randomUUID()}.${type}`);
  const file = await open(path, "wx", 0o600);
  try {
    for await (const text of texts) await file.appendFile(text);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  return path;
}

/**
 * Removes expired exports. Keeps all other files, because users may store their own in the folder.
 */
export async function removeEndedFiles(data: string, now: number): Promise<void> {
  const folder = findFolder(data);
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((one) => ourName.test(one))) {
    await removeIfEnded(join(folder, name), now);
  }
}

const ourName = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\.(?:csv|json)$/;

async function removeIfEnded(path: string, now: number): Promise<void> {
  // Another process of the folder may have removed the file in the meantime.
  const file = await lstat(path).catch(() => undefined);
  if (file?.isFile() === true && file.mtimeMs <= now - lasts_ms) await rm(path, { force: true });
}

function findFolder(data: string): string {
  // The client may have another working directory, so the path must be absolute.
  return resolve(data, "exports");
}
