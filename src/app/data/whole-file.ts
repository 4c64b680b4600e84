import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { chmod, link, lstat, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Writable } from "node:stream";
import { readCode } from "./file-fault.ts";

/** Links name campaigns, partners and unpublished pages: who else may read them is said later. */
const ownerOnly = 0o600;

/**
 * The file appears whole or not at all, and is on the disk then. Where it may not replace another,
 * the system's error for a file that exists is thrown.
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

/** Keeps a file that another process has made meanwhile. */
async function placeNew(draft: string, file: string): Promise<void> {
  try {
    await link(draft, file);
  } catch (error) {
    // A disk without hard links.
    const isThere = await lstat(file).then(
      () => true,
      () => false,
    );
    if (readCode(error) === "EEXIST" || isThere) throw error;
    await rename(draft, file);
  }
}

/** Its name is on the disk as well then; some systems open no folder. */
export async function flushFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}
