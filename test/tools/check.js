import { spawn } from "node:child_process";
import { once } from "node:events";
import { installTestPackages } from "./test-packages.js";

/** `npm run check` checks format, lint, types, unused code and the package. */

const format = [["prettier", "--check", "--log-level", "warn", "."]];
const rest = [
  ["oxlint", "--type-aware", "--deny-warnings", "-c", "test/oxlint.json"],
  ["tsc"],
  ["tsc", "-p", "src/console/browser"],
  ["knip"],
  ["node", "test/tools/build.js"],
  ["publint", "--strict"],
];
// The commands run at the same time, and only one of them may install.
installTestPackages();
const codes = await Promise.all([runAll(format), runAll(rest)]);
process.exitCode = Math.max(...codes);

/** Stops at the first command that fails, and returns its exit code. */
async function runAll(commands) {
  for (const words of commands) {
    const tool = spawn(process.execPath, ["test/tools/run.js", ...words], { stdio: "inherit" });
    const [code] = await once(tool, "close");
    if (code !== 0) return code ?? 1;
  }
  return 0;
}
