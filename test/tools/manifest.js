import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { format } from "prettier";

/**
 * Puts the tools of a live `tools/list` and the version of package.json into manifest.json, so
 * that the bundle's manifest cannot promise what the server does not have.
 */

export async function renderManifest() {
  const { tools: _, ...manifest } = JSON.parse(readFileSync("manifest.json", "utf8"));
  const { version, description } = JSON.parse(readFileSync("package.json", "utf8"));
  const next = { ...manifest, version, description, tools: await readTools() };
  return format(JSON.stringify(next), { parser: "json", printWidth: 100 });
}

/** What the built command shows the owner of a new data folder. */
async function readTools() {
  const folder = mkdtempSync(join(tmpdir(), "waypost-manifest-"));
  const client = new Client({ name: "manifest", version: "0" });
  try {
    const args = ["dist/waypost.js", "--data", join(folder, "data"), "--log", "silent"];
    await client.connect(new StdioClientTransport({ command: process.execPath, args }));
    const { tools } = await client.listTools();
    return tools.map(({ name, description }) => ({ name, description }));
  } finally {
    await client.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1]?.endsWith("manifest.js")) {
  writeFileSync("manifest.json", await renderManifest());
}
