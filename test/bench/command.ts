import { execFileSync } from "node:child_process";
import { resolve } from "node:path";

/** The built command of this checkout. */
export const command = resolve("dist/waypost.js");

export function describeCommit(): string {
  const commit = git("rev-parse", "--short", "HEAD");
  const isChanged = git("status", "--porcelain", "--", "src", "package-lock.json") !== "";
  return isChanged ? `${commit} and changes` : commit;
}

function git(...words: readonly string[]): string {
  return execFileSync("git", words, { encoding: "utf8" }).trim();
}
