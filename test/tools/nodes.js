import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fetchNode } from "./fetch-node.js";

/** Runs all tests and a start of the built command on every supported Node version. */

const versions = ["20.20.2", "22.23.3", "24.21.0"];

let isWell =
  spawnSync(process.execPath, ["test/tools/build.js"], { stdio: "inherit" }).status === 0;
for (const version of versions) {
  const { summary, isGood } = await tryVersion(version);
  isWell &&= isGood;
  console.log(`Node ${version}: ${summary}`);
}
process.exitCode = isWell ? 0 : 1;

async function tryVersion(version) {
  try {
    const node = fetchNode(version);
    const start = await tryStart(node);
    const { passed, failed, skipped, names } = runSuite(node);
    for (const name of names) console.error(`  ${name}`);
    const summary = `${passed} passed, ${failed} failed, ${skipped} skipped; ${start}`;
    return { summary, isGood: failed === 0 && passed > 0 };
  } catch (error) {
    return { summary: error.message, isGood: false };
  }
}

/** Starts the service with a new folder, checks its health, and stops it. */
async function tryStart(node) {
  const folder = mkdtempSync(join(tmpdir(), "waypost-nodes-"));
  const words = ["dist/waypost.js", "serve", "--data", join(folder, "data"), "--port=0", "--json"];
  const child = spawn(node, words, {
    env: readEnvironment(node),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close");
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
  const line = await Promise.race([once(createInterface(child.stdout), "line"), ended]);
  try {
    if (child.exitCode !== null) throw new Error(`serve ended at once: ${stderr.trim()}`);
    const { url } = JSON.parse(line[0]);
    const { status } = await fetch(`${url}/healthz`);
    child.kill("SIGTERM");
    const [code] = await ended;
    if (status !== 200 || code !== 0) throw new Error(`health ${status}, exit ${code}: ${stderr}`);
    if (/warning/i.test(stderr)) throw new Error(`serve warns: ${stderr.trim()}`);
    return "serve starts and stops";
  } finally {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Reads TAP, because the JSON report belongs to `npm test`. */
function runSuite(node) {
  const words = ["test/node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts"];
  const { status, stdout, stderr } = spawnSync(node, [...words, "--reporter=tap-flat"], {
    encoding: "utf8",
    env: readEnvironment(node),
    maxBuffer: 64 * 1024 * 1024,
  });
  const lines = stdout.split("\n");
  const names = lines.filter((line) => line.startsWith("not ok "));
  const run = lines.filter((line) => line.startsWith("ok "));
  const skipped = run.filter((line) => /# (SKIP|TODO)/.test(line)).length;
  if (run.length === 0) throw new Error(`the suite did not run: ${stderr.trim() || stdout}`);
  // An error outside all tests also fails the run, without a line of its own.
  if (status !== 0 && names.length === 0) names.push(stderr.trim());
  return { passed: run.length - skipped, failed: names.length, skipped, names };
}

/** Puts this Node first for everything the tests start, without the machine's settings. */
function readEnvironment(node) {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith("WAYPOST_"));
  const separator = process.platform === "win32" ? ";" : ":";
  return { ...Object.fromEntries(entries), PATH: dirname(node) + separator + process.env.PATH };
}
