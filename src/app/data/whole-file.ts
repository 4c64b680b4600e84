import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { chmod, link, lstat, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Writable } from "node:stream";
import { readCode } from "./file-fault.ts";

/** Writes a file completely or not at all, even if the machine stops. */

/** Exports reveal campaigns, partners and unpublished pages, so only the owner may read them. */
const ownerOnly = 0o600;

/**
 * Writes a file atomically and flushes it to disk. If the file exists and must not be replaced,
 * throws the file system's error.
 */
export async function writeWholeFile(
  file: string,
  replaces: boolean,
  write: (output: Writable) => Promise<void>,
  mode = ownerOnly,
): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  try {
    await write(createWriteStream(draft, { flags: "wx", flush: true, mode: ownerOnly }));
    if (mode !== ownerOnly) await chmod(draft, mode);
    if (replaces) await rename(draft, file);
    else await placeNew(draft, file);
    await flushFolder(dirname(file));
  } finally {
    await rm(draft, { force: true });
  }
}

/** Never replaces a file that another process created in the meantime. */
async function placeNew(draft: string, file: string): Promise<void> {
  try {
    await link(draft, file);
  } catch (error) {
    // Some file systems lack hard links. Use `rename` there, but never replace an existing file.
    const isThere = await lstat(file).then(
      () => true,
      () => false,
    );
    if (readCode(error) === "EEXIST" || isThere) throw error;
    await rename(draft, file);
  }
}

/**
 * Flushes the folder, so that a new file's name survives a crash. Does nothing if the system does
 * not support this.
 */
export async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}
