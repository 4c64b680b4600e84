import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

/** The path of another Node version's binary, from the npm registry by way of a cache. */
export function fetchNode(version) {
  const platform = process.platform === "win32" ? "win" : process.platform;
  const name = `node-${platform}-${process.arch}`;
  const folder = join(cache, version);
  const node = join(folder, "node_modules", name, "bin", platform === "win" ? "node.exe" : "node");
  if (!existsSync(node)) {
    const words = ["install", "--prefix", folder, "--ignore-scripts", "--no-save", "--no-audit"];
    const { status, stderr } = spawnSync("npm", [...words, `${name}@${version}`], {
      encoding: "utf8",
      shell: platform === "win",
    });
    if (status !== 0) throw new Error(`${name}@${version} could not be fetched: ${stderr}`);
  }
  const { stdout } = spawnSync(node, ["--version"], { encoding: "utf8" });
  if (stdout?.trim() !== `v${version}`) throw new Error(`${node} does not run`);
  return node;
}

const cache = resolve("test/node_modules/.cache/nodes");
