import { execFileSync } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";

import { endAtExit, makeFolder } from "./leftovers.ts";

/** The command of a commit, built. */
export type Build = {
  readonly commit: string;
  readonly root: string;
  /** The words after `node` that start it. */
  readonly command: string;
};

/** This checkout as it is, which `npm run bench` has just built. */
export function describeHere(): Build {
  const root = resolve(".");
  const isChanged = run(root, "git", "status", "--porcelain", "--", "src", "package-lock.json");
  const commit = run(root, "git", "rev-parse", "--short", "HEAD");
  return describe(root, isChanged === "" ? commit : `${commit} and changes`);
}

/** Another commit in a worktree of its own, which ends with the bench. */
export function buildCommit(name: string): Build & Disposable {
  const here = resolve(".");
  const commit = run(here, "git", "rev-parse", "--short", "--verify", `${name}^{commit}`);
  const folder = makeFolder();
  const root = join(folder.path, "checkout");
  run(here, "git", "worktree", "add", "--quiet", "--detach", root, commit);
  const remove = () => void run(here, "git", "worktree", "remove", "--force", root);
  const removed = endAtExit(remove);
  // Where one of these fails, the bench ends, and the worktree with it.
  installPackages(here, root);
  run(root, process.execPath, "test/tools/build.js");
  return {
    ...describe(root, commit),
    [Symbol.dispose]: () => {
      remove();
      removed();
      folder[Symbol.dispose]();
    },
  };
}

function installPackages(here: string, root: string): void {
  if (isDeepStrictEqual(listPackages(here), listPackages(root))) {
    symlinkSync(join(here, "node_modules"), join(root, "node_modules"));
  } else {
    run(root, "npm", "ci", "--no-audit", "--no-fund");
  }
}

/** What the command is built of, and what bundles it: the other tools are not used here. */
function listPackages(root: string): unknown {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  return Object.entries<{ readonly dev?: boolean; readonly integrity?: string }>(packages)
    .filter(([path, { dev }]) => path !== "" && (dev !== true || path.includes("esbuild")))
    .map(([path, { integrity }]) => [path, integrity]);
}

function describe(root: string, commit: string): Build {
  return { commit, root, command: join(root, "dist/waypost.js") };
}

function run(cwd: string, program: string, ...words: readonly string[]): string {
  return execFileSync(program, words, { cwd, encoding: "utf8" }).trim();
}
