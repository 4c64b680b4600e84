import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { delimiter, resolve } from "node:path";

/** The test packages live under `test`, so users do not download a browser and PostgreSQL. */

const modules = resolve("test/node_modules");
/** Contains the lock file of the installed packages. */
const marker = `${modules}/.installed-from`;

export function installTestPackages() {
  const lock = createHash("sha256").update(readFileSync("test/package-lock.json")).digest("hex");
  if (readMarker() === lock && existsSync(`${modules}/.bin/vitest`)) return;
  console.error("Installing the test tools, about 480 MB, into test/node_modules.");
  const status = runInherited("npm", ["ci", "--prefix", "test"]);
  if (status !== 0) process.exit(status);
  // A new file, because copies of this folder may share the old one.
  writeFileSync(`${marker}.new`, lock);
  renameSync(`${marker}.new`, marker);
}

/** Runs a command with the test tools on its path, and returns its exit code. */
export function runTool(command, words) {
  const PATH = [`${modules}/.bin`, process.env.PATH].join(delimiter);
  return runInherited(command, words, { ...process.env, PATH });
}

function runInherited(command, words, env = process.env) {
  const { status, error } = spawnSync(command, words, {
    stdio: "inherit",
    env,
    // npm and the installed commands are scripts on Windows, which only a shell can start.
    shell: process.platform === "win32",
  });
  if (error) console.error(error.message);
  return status ?? 1;
}

function readMarker() {
  try {
    return readFileSync(marker, "utf8");
  } catch {
    return undefined;
  }
}
