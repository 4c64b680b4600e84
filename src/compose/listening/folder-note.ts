import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { createToken } from "../../service/ids.ts";
import { findListenerKeyFile, keepToken } from "../data-folder.ts";
import { random } from "../embedded.ts";
import { readIfThere } from "../secrets.ts";
import { createSigner, type Signer } from "./signer.ts";

/** What a data folder says of its listener: where it was last, and by what it is known. */

/** Where a process listens, as others on this machine reach it. */
export type Place = { readonly host: string; readonly port: number };

const noteFile = "listener.json";

/** By the folder's secret, which is made when a process first listens. */
export function openSigner(folder: string): Signer {
  const path = findListenerKeyFile(folder);
  return createSigner(readIfThere(path) ?? keepToken(path, createToken(random)));
}

/** Undefined where no process of the folder has ever listened. */
export function findSigner(folder: string): Signer | undefined {
  const secret = readIfThere(findListenerKeyFile(folder));
  return secret === undefined ? undefined : createSigner(secret);
}

/** The place may be long left, or be somebody else's by now. */
export function readNote(folder: string): Place | undefined {
  try {
    const { host, port } = JSON.parse(readFileSync(join(folder, noteFile), "utf8"));
    const isPlace = typeof host === "string" && Number.isInteger(port) && port > 0;
    return isPlace && port <= 65_535 ? { host, port } : undefined;
  } catch {
    // It is not there, or not whole: then the listener is looked for where the settings say.
    return undefined;
  }
}

/** Whole or not at all, for other processes may read it at any moment. */
export function writeNote(folder: string, { host, port }: Place): void {
  const path = join(folder, noteFile);
  const draft = `${path}.${randomUUID()}`;
  try {
    writeFileSync(draft, `${JSON.stringify({ host, port })}\n`, { mode: 0o600, flag: "wx" });
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}

export function isSamePlace(one: Place | undefined, other: Place): boolean {
  return one?.host === other.host && one.port === other.port;
}
