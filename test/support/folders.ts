import { accessSync, constants, statfsSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Use these for the folders of a test and for the files of the repository. */

/**
 * Where tests make their folders: in memory, where there is room. No power fails in a test, and on
 * a disk half of its time, or more, would go into waiting until what it wrote is safe.
 */
export const memoryFolder = hasRoom("/dev/shm") ? "/dev/shm" : tmpdir();

/** Containers often have 64 MB of it, and then it is nobody's choice. */
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

/** Every file below a folder, without installed packages. */
export function listFiles(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isFile()) return [path];
    return entry.isDirectory() && entry.name !== "node_modules" ? listFiles(path) : [];
  });
}
