import { execFileSync } from "node:child_process";
import { cpus, loadavg, release, totalmem } from "node:os";
import { resolve } from "node:path";

/** What is measured: the built command of this checkout, on this machine. */

export const command = resolve("dist/waypost.js");

export function describeCommit(): string {
  const commit = git("rev-parse", "--short", "HEAD");
  const isChanged = git("status", "--porcelain", "--", "src", "package-lock.json") !== "";
  return isChanged ? `${commit} and changes` : commit;
}

function git(...words: readonly string[]): string {
  return execFileSync("git", words, { encoding: "utf8" }).trim();
}

export function describeMachine(): string {
  const [{ model } = { model: "unknown" }] = cpus();
  return `${cpus().length} × ${model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB`;
}

export function describeVersions(): string {
  const [system] = release().split("-");
  return `Node ${process.versions.node}, Linux ${system}`;
}

export function readLoad(): string {
  const [minute = 0] = loadavg();
  return minute.toFixed(2);
}
