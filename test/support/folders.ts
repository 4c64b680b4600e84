import { accessSync, constants, statfsSync, readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Use these for the folders of a test and for the files of the repository. */

/** In memory if possible: on a disk, tests would wait half their time for durable writes. */
export const memoryFolder = hasRoom("/dev/shm") ? "/dev/shm" : tmpdir();

/** In containers /dev/shm often has only 64 MB, which is not enough. */
function hasRoom(folder: string): boolean {
  const wanted = 2 * 1024 ** 3;
  try {
    accessSync(folder, constants.W_OK);
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= wanted;
  } catch {
    return false;
  }
}

export async function createEmptyFolder(parent = memoryFolder) {
  const path = await mkdtemp(join(parent, "waypost-test-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** All files below a folder, except installed packages. */
export function listFiles(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isFile()) return [path];
    return entry.isDirectory() && entry.name !== "node_modules" ? listFiles(path) : [];
  });
}
