import { spawn } from "node:child_process";
import { once } from "node:events";

/**
 * `npm run check`: what is known of the code before any of it is run. How it is laid out takes one
 * processor for as long as all the rest, which goes beside it.
 */

const codes = await Promise.all(["check:layout", "check:rest"].map(run));
if (codes.some((code) => code !== 0)) process.exitCode = 1;

async function run(script) {
  const check = spawn("npm", ["run", "--silent", script], {
    stdio: "inherit",
    // npm is a script on Windows, which only a shell can start.
    shell: process.platform === "win32",
  });
  const [code] = await once(check, "close");
  return code;
}
