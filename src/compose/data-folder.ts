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
import { UsageFault } from "../config.ts";

/** The folder that holds everything: private to its owner. */

export const databaseFile = "waypost.db";
export const stateFile = "state.db";
const ownerKeyFile = "owner.key";
const httpTokenFile = "http.token";

export function prepareDataFolder(folder: string): void {
  try {
    makeFolder(resolve(folder));
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    makePrivate(folder);
  } catch (error) {
    if (error instanceof UsageFault) throw error;
    throw new UsageFault(`the data folder ${folder} cannot be used (${readCode(error)})`);
  }
}

/** By hand, for Node's recursive mkdir never returns in places such as /proc. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another first start may have made it meanwhile.
    if (readCode(error) !== "EEXIST") throw error;
  }
}

export function hasDatabase(folder: string): boolean {
  return existsSync(join(folder, databaseFile));
}

export function findOwnerKeyFile(folder: string): string {
  return join(folder, ownerKeyFile);
}

export function findHttpTokenFile(folder: string): string {
  return join(folder, httpTokenFile);
}

/**
 * Keeps a token in a file of its own, or answers the one that is there. The file appears
 * whole or not at all, and only once: of two first starts, both go on with the same token.
 */
export function keepToken(path: string, token: string): string {
  const draft = `${path}.${randomUUID()}`;
  writeFileSync(draft, `${token}\n`, { mode: 0o600, flag: "wx", flush: true });
  try {
    linkSync(draft, path);
  } catch (error) {
    if (readCode(error) !== "EEXIST") copyWhole(token, path);
  } finally {
    rmSync(draft);
  }
  const kept = readFileSync(path, "utf8").trim();
  if (!/^waypost_\w{40}$/.test(kept)) {
    throw new UsageFault(`${path} holds no key; move it away and start again`);
  }
  return kept;
}

/** A disk without hard links: still only once, but not whole from its first moment. */
function copyWhole(token: string, path: string): void {
  if (existsSync(path)) return;
  writeFileSync(path, `${token}\n`, { mode: 0o600, flag: "wx", flush: true });
}

/** A folder with other files in it is refused: to change its mode is not for us. */
function makePrivate(folder: string): void {
  const isOpen = process.platform !== "win32" && (statSync(folder).mode & 0o077) !== 0;
  if (!isOpen) return;
  const names = readdirSync(folder);
  const ours = [databaseFile, stateFile, ownerKeyFile, httpTokenFile];
  const isOurs = names.length === 0 || ours.some((name) => names.includes(name));
  if (!isOurs) {
    const advice = `choose an empty folder, or close it with chmod 700`;
    throw new UsageFault(`the data folder ${folder} is open to others and not empty: ${advice}`);
  }
  chmodSync(folder, 0o700);
}

export function readCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}
