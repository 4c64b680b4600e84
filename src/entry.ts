/**
 * What `waypost` starts: it looks at the Node that it runs on before anything is read that an
 * older one has no words for, which would answer with pages of source. So it imports nothing, and
 * is built for Nodes far older than the ones that Waypost runs on.
 */

/** Put in by the build, from what package.json demands. */
declare const WAYPOST_NODE: readonly [number, number];

const [oldestMajor, oldestMinor] = WAYPOST_NODE;
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const isTooOld = major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
/** Node 21 and the first Node 22 lack this function. */
const hasBuiltins = typeof process.getBuiltinModule === "function";

if (isTooOld || !hasBuiltins) {
  process.stderr.write(
    `waypost: this is Node ${process.versions.node}, but Waypost needs Node ` +
      `${oldestMajor}.${oldestMinor}, or 22.3 or newer; install it from https://nodejs.org\n`,
  );
  process.exitCode = 2;
} else {
  // Sooner done than an import, and the build leaves it a file of its own.
  const { createRequire } = process.getBuiltinModule("node:module");
  createRequire(import.meta.url)("./start.cjs").startProgram(process.argv, process.env);
}
