import { rmSync, statSync } from "node:fs";
import { relative, sep } from "node:path";
import { Stryker } from "@stryker-mutator/core";

/** `npm run mutate -- src/text/escape.ts` prints each small change that no test notices. */

const copies = `.report/mutate-${process.pid}`;
const paths = process.argv.slice(2).map((path) => relative("", path).replaceAll(sep, "/"));
const mutate = paths.filter((path) => /^src\/.*\.ts$/.test(path));
const testFiles = paths.filter((path) => /^test\/.*\.test\.ts$/.test(path));
const stranger = paths.find((path) => ![...mutate, ...testFiles].includes(path) || !isFile(path));

if (mutate.length === 0 || stranger !== undefined) {
  const fault =
    stranger === undefined
      ? "Name at least one source file."
      : `${stranger} is not a source file or a test file.`;
  console.error(`${fault} For example: npm run mutate -- src/text/escape.ts`);
  process.exitCode = 2;
} else {
  // Stryker leaves its copy behind when it is interrupted.
  process.once("exit", () => rmSync(copies, { recursive: true, force: true }));
  // Stryker's own option for test files ignores code that runs while a module loads.
  if (testFiles.length > 0) process.env.MUTATE_TESTS = testFiles.join();
  const configFile = "test/stryker.config.js";
  const stryker = new Stryker({ configFile, mutate, tempDirName: copies });
  // Stryker has already logged the error.
  await stryker.runMutationTest().catch(() => (process.exitCode = 1));
}

function isFile(path) {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
