import { readdirSync } from "node:fs";
import { join } from "node:path";

/** Every file below a folder, those in its folders as well. */
export function listFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
