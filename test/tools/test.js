import { spawnSync } from "node:child_process";

/**
 * `npm test` runs the checks and then every test. `npm test -- mcp/http` builds the command, which
 * many tests start, and runs the files whose path has these words in it, without the checks;
 * whatever else vitest takes goes along: `npm test -- mcp/http -t "a session"`.
 */

const words = process.argv.slice(2);
if (words.length === 0) run("npm", ["run", "--silent", "check"]);
else run(process.execPath, ["test/tools/build.js"]);
const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts"];
run(process.execPath, [...vitest, ...words]);

/** Goes on only where that went well. */
function run(command, args) {
  const { status } = spawnSync(command, args, {
    stdio: "inherit",
    // npm is a script on Windows, which only a shell can start.
    shell: command === "npm" && process.platform === "win32",
  });
  if (status !== 0) process.exit(status ?? 1);
}
