import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { randomUUID } from "node:crypto";
import { dirname, join, resolve } from "node:path";
import { UsageFault } from "../../config.ts";
import { keyFiles } from "../../copies/data-files.ts";
import { isEmptied } from "../../sql/sqlite-file.ts";
import { stateDatabase } from "../../state/schema.ts";
import { storeDatabase } from "../../store/tables.ts";
import { explainFileFault, readCode } from "./file-fault.ts";

/** The data folder, which only its owner can read. */

export const databaseFile = storeDatabase.file;
export const stateFile = stateDatabase.file;
const [ownerKeyFile, httpTokenFile] = keyFiles;
const listenerKeyFile = "listener.key";
const consolePathFile = "console-path";

export function prepareDataFolder(folder: string, uid = process.getuid?.()): void {
  makeDataFolder(folder, uid);
  requireComplete(folder);
}

/** Like `prepareDataFolder`, but also accepts a folder whose restore or migration is incomplete. */
export function makeDataFolder(folder: string, uid = process.getuid?.()): void {
  explainFault(folder, () => {
    makeFolder(resolve(folder));
    requireUsable(folder);
    requireTrustedOwner(folder, uid);
    if (isOpenToOthers(folder)) chmodSync(folder, 0o700);
  });
}

/** Throws the same errors as `prepareDataFolder`, but changes nothing. */
export function checkDataFolder(folder: string, uid = process.getuid?.()): void {
  explainFault(folder, () => {
    let nearest = resolve(folder);
    while (!existsSync(nearest)) nearest = dirname(nearest);
    requireUsable(nearest);
    if (!existsSync(folder)) return;
    requireTrustedOwner(folder, uid);
    isOpenToOthers(folder);
  });
  requireComplete(folder);
}

function explainFault(folder: string, use: () => void): void {
  try {
    use();
  } catch (error) {
    if (error instanceof UsageFault) throw error;
    const advice = "choose another folder with --data (WAYPOST_DATA)";
    const isMissing = readCode(error) === "ENOENT";
    const cause = isMissing ? "it cannot be created" : explainFileFault(error);
    throw new UsageFault(`the data folder ${folder}: ${cause}; ${advice}`);
  }
}

function requireUsable(folder: string): void {
  if (!statSync(folder).isDirectory()) {
    throw new UsageFault(`${folder} is a file; --data (WAYPOST_DATA) must be a folder`);
  }
  accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
}

/**
 * Throws if another user owns the folder, because the owner can read and replace everything in it.
 * Windows has no user IDs to check.
 */
export function requireTrustedOwner(folder: string, uid = process.getuid?.()): void {
  const owner = statSync(folder, { throwIfNoEntry: false })?.uid;
  if (owner === undefined || uid === undefined || owner === 0 || owner === uid) return;
  // If root ran the command, the folder's owner could not read the new files.
  const advice =
    uid === 0
      ? `run this command as that user, with sudo -u '#${owner}'`
      : "pass a folder of your own with --data";
  throw new UsageFault(`the data folder ${folder} belongs to another user; ${advice}`);
}

/** Creates one folder at a time: Node's recursive mkdir hangs in places such as /proc. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have created the folder in the meantime.
    if (readCode(error) !== "EEXIST") throw error;
  }
}

/**
 * Lists the files that prevent copying data to a folder. Ignores the compile cache and
 * `lost+found`.
 */
export function listData(folder: string): readonly string[] {
  const emptyNames = /^(?:compiled-.*|lost\+found)$/;
  return readdirSync(folder).filter((name) => !emptyNames.test(name));
}

/** Returns the subfolder that holds a copy's files until all of them are complete. */
export function findIncomplete(folder: string): string {
  return join(folder, "incomplete");
}

function requireComplete(folder: string): void {
  if (!existsSync(findIncomplete(folder))) return;
  throw new UsageFault(
    `the data folder ${folder} is incomplete: a restore or migration into it is running, or was ` +
      "interrupted; run the same command again, or remove the folder",
  );
}

export function hasDatabase(folder: string): boolean {
  return existsSync(join(folder, databaseFile));
}

/**
 * Throws if the store's file was emptied. Otherwise a new store would accept the old key, and no
 * one would notice that all links are lost.
 */
export function requireNotEmptied(folder: string): void {
  const file = join(folder, databaseFile);
  if (!isEmptied(file) || !existsSync(findOwnerKeyFile(folder))) return;
  throw new UsageFault(
    `${file} is empty, but ${ownerKeyFile} next to it shows that it had data; restore the file ` +
      "from a backup, or remove it to start with a new database",
  );
}

export function findOwnerKeyFile(folder: string): string {
  return join(folder, ownerKeyFile);
}

export function findHttpTokenFile(folder: string): string {
  return join(folder, httpTokenFile);
}

export function findListenerKeyFile(folder: string): string {
  return join(folder, listenerKeyFile);
}

export function findConsolePathFile(folder: string): string {
  return join(folder, consolePathFile);
}

export function keepToken(path: string, token: string): string {
  return checkToken(path, keepText(path, token));
}

/**
 * Writes a string to a new file, or returns the existing file's content. Creates the file
 * atomically, so concurrent first starts use the same string.
 */
export function keepText(path: string, text: string): string {
  const draft = `${path}.${randomUUID()}`;
  writeFileSync(draft, `${text}\n`, { mode: 0o600, flag: "wx", flush: true });
  try {
    linkSync(draft, path);
  } catch (error) {
    if (readCode(error) !== "EEXIST") copyWhole(text, path);
  } finally {
    rmSync(draft);
  }
  return readFileSync(path, "utf8").trim();
}

/** Throws unless the file contains a token that Waypost generated. */
export function checkToken(path: string, kept: string): string {
  if (/^waypost_\w{40}$/.test(kept)) return kept;
  throw new UsageFault(`${path} contains no key; move the file away and start Waypost again`);
}

/** For file systems without hard links, where other processes may read an incomplete file. */
function copyWhole(text: string, path: string): void {
  if (existsSync(path)) return;
  writeFileSync(path, `${text}\n`, { mode: 0o600, flag: "wx", flush: true });
}

/**
 * Whether other users can open the folder. Throws if such a folder contains files but none of
 * Waypost's, because other programs may depend on the folder's mode.
 */
function isOpenToOthers(folder: string): boolean {
  const isOpen = process.platform !== "win32" && (statSync(folder).mode & 0o077) !== 0;
  if (!isOpen) return false;
  const names = readdirSync(folder);
  const ours = [databaseFile, stateFile, ownerKeyFile, httpTokenFile];
  const isOurs = names.length === 0 || ours.some((name) => names.includes(name));
  if (!isOurs) {
    const advice = "choose an empty folder, or run chmod 700 on this one";
    throw new UsageFault(
      `other users can open the data folder ${folder}, and it is not empty; ${advice}`,
    );
  }
  return true;
}
