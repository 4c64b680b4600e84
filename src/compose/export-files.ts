import { randomUUID } from "node:crypto";
import { chmod, mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/** Exports as files, for a client on this machine: private, named by us, and gone in an hour. */

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

export async function removeEndedFiles(data: string, now: number): Promise<void> {
  const folder = findFolder(data);
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const path = join(folder, name);
    const { mtimeMs } = await stat(path);
    if (mtimeMs <= now - lasts_ms) await rm(path, { force: true });
  }
}

function findFolder(data: string): string {
  return join(data, "exports");
}
