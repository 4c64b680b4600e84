import { readdirSync } from "node:fs";
import { join } from "node:path";

/** Every file below a folder, without installed packages. */
export function listFiles(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isFile()) return [path];
    return entry.isDirectory() && entry.name !== "node_modules" ? listFiles(path) : [];
  });
}
