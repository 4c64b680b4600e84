import { installTestPackages, runTool } from "./test-packages.js";

/**
 * `npm test` runs the checks and then every test. `npm test -- mcp/http` builds the command, which
 * many tests start, and runs the files whose path contains these words, without the checks. Other
 * arguments of vitest work too: `npm test -- mcp/http -t "a session"`.
 */

const words = process.argv.slice(2);
installTestPackages();
if (words.length === 0) run("npm", ["run", "--silent", "check"]);
else run("node", ["test/tools/build.js"]);
run("vitest", ["run", "--config", "test/vitest.config.ts", ...words]);

/** Continues only after success. */
function run(command, args) {
  const status = runTool(command, args);
  if (status !== 0) process.exit(status);
}
