import { existsSync, readFileSync } from "node:fs";
import { posix } from "node:path";

/**
 * Whether a test runs the built command, and not the source alone: then one of the files that it
 * is made of, itself or what it imports below `test/`, names the bundle.
 */
export function usesBundle(path: string, seen = new Set<string>()): boolean {
  if (seen.has(path)) return false;
  seen.add(path);
  const text = readFileSync(path, "utf8");
  if (text.includes(bundle)) return true;
  const imports = [...text.matchAll(/"(\.\.?\/[^"]+\.[jt]s)"/g)].map(([, name = ""]) => name);
  return (
    imports
      .map((name) => posix.join(path, "..", name))
      // Not every text that looks like a path is one of ours.
      .filter((other) => other.startsWith("test/") && existsSync(other))
      .some((other) => usesBundle(other, seen))
  );
}

const bundle = "dist/waypost.js";
