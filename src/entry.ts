/**
 * The file that the `waypost` command runs. It checks Node's version before loading anything that
 * an older version cannot parse, so it imports nothing and is compiled for much older versions.
 */

/** Set by the build, from package.json. */
declare const WAYPOST_NODE: readonly [number, number];

const [oldestMajor, oldestMinor] = WAYPOST_NODE;
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const isTooOld = major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
/** Node 21 and the first versions of Node 22 lack this function. */
const hasBuiltins = typeof process.getBuiltinModule === "function";

if (isTooOld || !hasBuiltins) {
  process.stderr.write(
    `waypost: this is Node ${process.versions.node}, but Waypost needs Node ` +
      `${oldestMajor}.${oldestMinor}, or 22.3 or newer; install it from https://nodejs.org\n`,
  );
  process.exitCode = 2;
} else {
  // `require` is faster than an import, and keeps the build from bundling the program into this
  // file.
  const { createRequire } = process.getBuiltinModule("node:module");
  createRequire(import.meta.url)("./start.cjs").startProgram(process.argv, process.env);
}
