import { spawnSync } from "node:child_process";
import { dirname } from "node:path";
import { fetchNode } from "./fetch-node.js";

/** Runs all tests on every supported Node version. */

const versions = ["20.20.2", "22.23.3", "24.21.0"];
const vitest = ["test/node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts"];

const results = versions.map((version) => {
  console.log(`\nNode ${version}`);
  const node = fetchNode(version);
  const { status } = spawnSync(node, [...vitest, "--reporter=dot"], {
    stdio: "inherit",
    env: readEnvironment(node),
  });
  return `Node ${version}: ${status === 0 ? "passed" : "FAILED"}`;
});
console.log(`\n${results.join("\n")}`);
process.exitCode = results.some((result) => result.endsWith("FAILED")) ? 1 : 0;

/** Puts this Node first for everything the tests start, without the machine's settings. */
function readEnvironment(node) {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith("WAYPOST_"));
  const separator = process.platform === "win32" ? ";" : ":";
  return { ...Object.fromEntries(entries), PATH: dirname(node) + separator + process.env.PATH };
}
