import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { chmod, link, lstat, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Writable } from "node:stream";
import { readCode } from "./file-fault.ts";

/** Links name campaigns, partners and unpublished pages, so only the owner may read the file. */
const ownerOnly = 0o600;

/**
 * Writes a file that appears complete or not at all, and waits until it is on the disk. If the file
 * exists and may not be replaced, the file system's error is thrown.
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

/** Does not replace a file that another process has created meanwhile. */
async function placeNew(draft: string, file: string): Promise<void> {
  try {
    await link(draft, file);
  } catch (error) {
    // The disk may not support hard links.
    const isThere = await lstat(file).then(
      () => true,
      () => false,
    );
    if (readCode(error) === "EEXIST" || isThere) throw error;
    await rename(draft, file);
  }
}

/**
 * Writes the folder to the disk, so that a new file's name is kept. Some systems cannot open
 * folders.
 */
export async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}
