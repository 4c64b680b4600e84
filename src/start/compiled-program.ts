import { createHash } from "node:crypto";
import {
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Script } from "node:vm";

/**
 * Runs the program, and keeps in the data folder what V8 has compiled of it: to read through all
 * of its text at each start took nearly as long as everything else.
 */

/** What the build makes of `main.ts`: one function, given what a module has of its own. */
type Program = (require: NodeJS.Require, programUrl: string, keepCompiled: () => void) => void;

const digestBytes = 32;
/** Each build and each Node has one, and several may share a folder. */
const mostKept = 6;
const prefix = "compiled-";

export function runProgram(filename: string, folder: string): void {
  // The build has seen to it that each character is a byte.
  const source = readFileSync(filename, "latin1");
  const path = join(folder, nameKept(source));
  const cachedData = readKept(folder, path);
  const script = new Script(source, { filename, ...(cachedData && { cachedData }) });
  let isKept = cachedData !== undefined && script.cachedDataRejected !== true;
  // The build has written a function of this type.
  const run = script.runInThisContext() as Program;
  run(createRequire(filename), pathToFileURL(filename).href, () => {
    if (isKept) return;
    isKept = true;
    keep(folder, path, script.createCachedData());
  });
}

/** V8 itself compares no more than the length of the text, so the build begins it with a digest. */
function nameKept(source: string): string {
  const build = source.slice("//".length, source.indexOf("\n"));
  return `${prefix}${build}-${process.versions.v8}-${process.arch}`;
}

/** Undefined where there is none, or where it may not be as it was written by us. */
function readKept(folder: string, path: string): Buffer | undefined {
  try {
    // It is run, so nobody else may be able to put anything there.
    if (!isOurs(statSync(folder))) return undefined;
    const kept = lstatSync(path);
    // What is no file may never end, and a link may lead to where others write.
    if (!kept.isFile() || !isOurs(kept)) return undefined;
    const bytes = readFileSync(path);
    const data = bytes.subarray(0, -digestBytes);
    return digest(data).equals(bytes.subarray(data.length)) ? data : undefined;
  } catch {
    return undefined;
  }
}

/** Windows tells of no owner, and closes a person's folders to others by itself. */
function isOurs({ uid, mode }: { readonly uid: number; readonly mode: number }): boolean {
  return process.getuid === undefined || (uid === process.getuid() && (mode & 0o077) === 0);
}

/** It appears whole or not at all. Where nothing can be written, a start takes longer. */
function keep(folder: string, path: string, data: Buffer): void {
  const draft = `${path}.${process.pid}`;
  try {
    // From there it would not be read, and what others put there could be a link of theirs.
    if (!isOurs(statSync(folder))) return;
    const sealed = Buffer.concat([data, digest(data)]);
    writeFileSync(draft, sealed, { mode: 0o600, flag: "wx", flush: true });
    renameSync(draft, path);
    removeOldest(folder);
  } catch {
    rmSync(draft, { force: true });
  }
}

function removeOldest(folder: string): void {
  const kept = readdirSync(folder)
    .filter((name) => name.startsWith(prefix))
    .map((name) => join(folder, name))
    .map((path) => ({ path, written_ms: lstatSync(path).mtimeMs }))
    .toSorted((one, other) => other.written_ms - one.written_ms);
  for (const { path } of kept.slice(mostKept)) rmSync(path, { force: true });
}

/** With what a start loads anyway. */
function digest(data: Buffer): Buffer {
  return createHash("sha256").update(data).digest();
}
