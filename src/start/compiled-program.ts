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
 * Runs the program from V8's code cache in the data folder. Compiling it would take nearly as long
 * as the rest of a start.
 */

/**
 * The build wraps `main.ts` in a function of this type. `programUrl` replaces `import.meta.url`.
 */
type Program = (require: NodeJS.Require, programUrl: string, keepCompiled: () => void) => void;

const digestBytes = 32;
/**
 * The maximum number of cached files. Each build and each Node version has its own file, and
 * several versions may share a folder.
 */
const mostKept = 6;
const prefix = "compiled-";

export function runProgram(filename: string, folder: string): void {
  // The build ensures that each character is one byte.
  const source = readFileSync(filename, "latin1");
  const path = join(folder, nameKept(source));
  const cachedData = readKept(folder, path);
  const script = new Script(source, { filename, ...(cachedData && { cachedData }) });
  let isKept = cachedData !== undefined && script.cachedDataRejected !== true;
  const run = script.runInThisContext() as Program;
  run(createRequire(filename), pathToFileURL(filename).href, () => {
    if (isKept) return;
    isKept = true;
    storeCompiled(folder, path, script.createCachedData());
  });
}

/** V8 checks only the source's length, so the file name contains the source's hash. */
function nameKept(source: string): string {
  const build = source.slice("//".length, source.indexOf("\n"));
  return `${prefix}${build}-${process.versions.v8}-${process.arch}`;
}

/** Returns undefined if no code is cached, or if others may have changed it. */
function readKept(folder: string, path: string): Buffer | undefined {
  try {
    // The cached code is executed, so no other user may be able to write it.
    if (!isOurs(statSync(folder))) return undefined;
    const kept = lstatSync(path);
    // Reading a pipe may never end, and a symbolic link may point to another user's file.
    if (!kept.isFile() || !isOurs(kept)) return undefined;
    const bytes = readFileSync(path);
    const data = bytes.subarray(0, -digestBytes);
    return digest(data).equals(bytes.subarray(data.length)) ? data : undefined;
  } catch {
    return undefined;
  }
}

/** Windows has no numeric user IDs, and by default protects each user's folders. */
function isOurs({ uid, mode }: { readonly uid: number; readonly mode: number }): boolean {
  return process.getuid === undefined || (uid === process.getuid() && (mode & 0o077) === 0);
}

/**
 * Writes the file atomically. Errors are ignored, because without the file only the start is
 * slower.
 */
function storeCompiled(folder: string, path: string, data: Buffer): void {
  const draft = `${path}.${process.pid}`;
  try {
    // A folder that others can write to is not trusted: the path could be a symbolic link.
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

/** Uses node:crypto, because every start loads it anyway. */
function digest(data: Buffer): Buffer {
  return createHash("sha256").update(data).digest();
}
