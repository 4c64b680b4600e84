import { installTestPackages, runTool } from "./test-packages.js";

/** `npm test` runs the checks and all tests; `npm test -- mcp/transport` runs matching files. */

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
