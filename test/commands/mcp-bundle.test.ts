import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, test } from "vitest";
import { createFolder } from "../support/command.ts";
import { visit } from "../support/listening.ts";
import { findFreePort } from "../support/ports.ts";

/** The bundle for one-click installation (docs/clients.md), packed and started from its files. */

const require = createRequire(import.meta.url);
const mostBytes = 35 * 1024 * 1024;
/** The main file of the package is next to the file of its command. */
const mcpb = require.resolve("@anthropic-ai/mcpb").replace(/index\.js$/, "cli/cli.js");

test("mcpb accepts the MCP bundle's manifest.json", () => {
  const words = [mcpb, "validate", "manifest.json"];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8" });
  expect({ status, stdout, stderr }).toMatchObject({ status: 0 });
});

test("the packed MCP bundle is small and runs a server that creates and opens links", async () => {
  await using folder = await createFolder();
  mkdirSync(folder.path);
  const file = join(folder.path, "waypost.mcpb");
  const place = join(folder.path, "unpacked");
  execFileSync(process.execPath, [mcpb, "pack", ".", file], { stdio: "pipe" });
  expect(statSync(file).size).toBeLessThan(mostBytes);
  execFileSync(process.execPath, [mcpb, "unpack", file, place], { stdio: "pipe" });
  // No packages of the checkout are above this folder, so missing files would be noticed.
  const { server } = JSON.parse(readFileSync(join(place, "manifest.json"), "utf8"));
  const args = server.mcp_config.args.map((word: string) => word.replace("${__dirname}", place));
  const client = new Client({ name: "installer", version: "0" });
  const port = String(await findFreePort());
  const data = join(folder.path, "data");
  const env = { WAYPOST_DATA: data, WAYPOST_PORT: port, WAYPOST_LOG: "silent" };
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args, env, cwd: folder.path }),
  );
  const url = "https://example.com/sale";
  const made = await client.callTool({
    name: "create_link",
    arguments: { path: "packed", url },
  });
  const address = `http://default.localhost:${port}/packed`;
  expect(made.structuredContent).toMatchObject({ link: { address } });
  expect(await visit(address)).toEqual({ status: 302, location: url });
  await client.close();
});
