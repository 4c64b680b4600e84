import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** Vitest runs this once before the tests, because many of them start the built command. */

const root = join(import.meta.dirname, "../..");

const sources = ["src", "test/tools", "package.json"].map((name) => join(root, name));
const built = join(root, "dist/program.js");

export function setup(): void {
  if (!isOlder(built, sources)) return;
  execFileSync(process.execPath, ["test/tools/build.js"], { cwd: root, stdio: "inherit" });
}

/** Whether something in these folders changed after the file was written, or it is missing. */
function isOlder(file: string, places: readonly string[]): boolean {
  const writtenAt = readTime(file);
  return writtenAt === undefined || places.some((place) => isNewer(place, writtenAt));
}

/** The time of a folder changes when a file in it comes or goes. */
function isNewer(place: string, time: number): boolean {
  const nested = statSync(place).isDirectory()
    ? readdirSync(place, { recursive: true, encoding: "utf8" })
    : [];
  return ["", ...nested].some((name) => (readTime(join(place, name)) ?? 0) > time);
}

function readTime(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}
