import { randomUUID } from "node:crypto";
import {
  closeSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createToken } from "../../service/ids.ts";
import { openDatabase } from "../../sql/engine.ts";
import { isBusy } from "../../sql/faults.ts";
import { checkToken, findListenerKeyFile, keepToken } from "../data-folder.ts";
import { random } from "../embedded.ts";
import { readIfThere } from "../secrets.ts";
import { createSigner, type Signer } from "./signer.ts";

/** What a data folder says of its listener: where it was last, and by what it is known. */

/** Where a process listens, as others on this machine reach it. */
export type Place = { readonly host: string; readonly port: number };

/** As it was read: only who has read the note that is there may put another in its place. */
export type Note = {
  readonly text: string | undefined;
  /** It may be long left, or be somebody else's by now. */
  readonly place: Place | undefined;
};

const noteFile = "listener.json";
/** Locked while the note is read and replaced; whoever is killed meanwhile leaves it free. */
const lockFile = "listener.lock";
/** A name or an address, which has no space or line end in it. */
const hostPattern = /^[\w.:%-]+$/;
/** Far more than any note has. */
const mostBytes = 4096;

/** By the folder's secret, which is made when a process first listens. */
export function openSigner(folder: string): Signer {
  return (
    findSigner(folder) ?? createSigner(keepToken(findListenerKeyFile(folder), createToken(random)))
  );
}

/** Undefined where no process of the folder has ever listened. */
export function findSigner(folder: string): Signer | undefined {
  const path = findListenerKeyFile(folder);
  const secret = readIfThere(path);
  // One that can be guessed would let any program on this machine speak in our name.
  return secret === undefined ? undefined : createSigner(checkToken(path, secret));
}

export function readNote(folder: string): Note {
  const text = readNoteText(folder);
  return { text, place: text === undefined ? undefined : parsePlace(text) };
}

function readNoteText(folder: string): string | undefined {
  const path = join(folder, noteFile);
  try {
    const found = statSync(path);
    return found.isFile() && found.size <= mostBytes ? readFileSync(path, "utf8") : undefined;
  } catch {
    // It is not there: then the listener is looked for where the settings say.
    return undefined;
  }
}

function parsePlace(text: string): Place | undefined {
  try {
    const { host, port } = JSON.parse(text);
    const isHost = typeof host === "string" && hostPattern.test(host);
    const isPort = Number.isInteger(port) && port > 0 && port <= 65_535;
    return isHost && isPort ? { host, port } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Names a place instead of the one in the note that was read. Answers false where another process
 * was quicker: of two that have read the same note, one alone comes to stand in the next.
 */
export function replaceNote(folder: string, known: Note, place: Place): boolean {
  const path = join(folder, lockFile);
  closeSync(openSync(path, "a", 0o600));
  const lock = openDatabase(path);
  try {
    lock.exec("BEGIN EXCLUSIVE");
    if (readNote(folder).text !== known.text) return false;
    writeNote(folder, place);
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  } finally {
    lock.close();
  }
}

/** Whole or not at all, for other processes may read it at any moment. */
function writeNote(folder: string, { host, port }: Place): void {
  const path = join(folder, noteFile);
  // The id tells it from another note of the same place.
  const id = randomUUID();
  const draft = `${path}.${id}`;
  try {
    writeFileSync(draft, `${JSON.stringify({ host, port, id })}\n`, { mode: 0o600, flag: "wx" });
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
}

export function isSamePlace(one: Place | undefined, other: Place): boolean {
  return one?.host === other.host && one.port === other.port;
}
