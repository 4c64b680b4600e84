import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { format } from "prettier";
import { settings, type Setting } from "../../src/config/settings.ts";

/** `npm run manifest` writes the tools, the version and the settings into manifest.json. */

export async function renderManifest(): Promise<string> {
  const { tools: _, ...manifest } = JSON.parse(readFileSync("manifest.json", "utf8"));
  const { version, description } = JSON.parse(readFileSync("package.json", "utf8"));
  const next = {
    ...manifest,
    version,
    description,
    user_config: describeFields(Object.keys(manifest.user_config)),
    tools: await readTools(),
  };
  return format(JSON.stringify(next), { parser: "json", printWidth: 100 });
}

/** The fields that the user fills in are named after the settings that they set. */
function describeFields(names: readonly string[]): object {
  const all: Readonly<Record<string, Setting>> = settings;
  const fields = names.map((name) => {
    const setting = all[name];
    if (setting === undefined) throw new Error(`manifest.json: ${name} is no setting`);
    const { title, help, unset, secret } = setting;
    const text = unset === undefined ? help : `${help} Default: ${unset}.`;
    const field = {
      type: "string",
      title,
      description: text.replaceAll("`", ""),
      ...(secret && { sensitive: true }),
      required: false,
      // Without a default, an empty field would arrive as the placeholder itself.
      default: setting.default ?? "",
    };
    return [name, field] as const;
  });
  return Object.fromEntries(fields);
}

/** The tools that the built command offers the owner of a new data folder. */
async function readTools(): Promise<readonly object[]> {
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

if (process.argv[1]?.endsWith("manifest.ts")) {
  writeFileSync("manifest.json", await renderManifest());
}
