import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, test } from "vitest";
import { createFolder } from "../support/command.ts";
import { listFiles } from "../support/folders.ts";
import { visit } from "../support/listening.ts";
import { findFreePort } from "../support/ports.ts";

/** The files of the npm package, and a server started from them. */

const mostBytes = 30_000_000;

/** The packages whose code is in `dist`. */
const bundled = `
  @hono/node-server @modelcontextprotocol/core @modelcontextprotocol/server
  @opentelemetry/api @photostructure/sqlite @pinojs/redact atomic-sleep bintrees css-tree
  csv-parse diff entities hono isbot jsonc-parser kysely liquidjs maxmind mdn-data mmdb-lib
  node-gyp-build on-exit-leak-free parse5 pg pg-cloudflare pg-connection-string pg-int8
  pg-pool pg-protocol pg-types pgpass pino pino-std-serializers postgres-array
  postgres-bytea postgres-date postgres-interval prom-client quick-format-unescaped
  safe-stable-stringify smol-toml sonic-boom source-map-js split2 tdigest thread-stream
  tiny-lru undici uqr xtend zod`;

test("the npm package runs as an MCP server without other packages", async () => {
  await using folder = await createFolder();
  const place = join(folder.path, "app");
  mkdirSync(place, { recursive: true });
  // The build exists already, and other tests are using it.
  runNpm(["pack", "--ignore-scripts", "--pack-destination", folder.path], ".");
  const file = readdirSync(folder.path).find((name) => name.endsWith(".tgz")) ?? "no file";
  const output = runNpm(["install", "--offline", "--no-audit", join(folder.path, file)], place);
  expect(output).toContain("added 1 package in");
  expect(output).not.toMatch(/warn/i);
  expect(readdirSync(join(place, "node_modules"))).toEqual([
    ".bin",
    ".package-lock.json",
    "waypost",
  ]);
  const installed = join(place, "node_modules/waypost");
  const sizes = listFiles(installed).map((path) => statSync(path).size);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(mostBytes);
  expect(readdirSync(installed).toSorted()).toEqual([
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "dist",
    "docs",
    "manifest.json",
    "package.json",
  ]);
  expect(readScripts(installed)).not.toContain("install");
  const printed = execFileSync(join(place, "node_modules/.bin/waypost"), ["connect", "cursor"], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  // A client may not resolve the link that npm creates.
  expect(JSON.parse(printed).mcpServers.waypost.args).toEqual([join(installed, "dist/waypost.js")]);
  await openNewLink(join(place, "node_modules/.bin/waypost"), folder.path);
});

test("the npm package contains the licenses of all bundled packages", () => {
  const notices = readFileSync("dist/THIRD-PARTY-LICENSES.txt", "utf8");
  const packages = notices.match(/^\S+ \d+\.\d+\.\d+ \([\w.-]+\)$/gm) ?? [];
  expect(packages.map((line) => line.split(" ")[0])).toEqual(bundled.trim().split(/\s+/));
  expect(notices.match(/undefined/g)).toBeNull();
});

async function openNewLink(command: string, folder: string): Promise<void> {
  const client = new Client({ name: "installer", version: "0" });
  const port = String(await findFreePort());
  const some = { PATH: process.env["PATH"] ?? "", HOME: folder };
  const env = { ...some, WAYPOST_PORT: port, WAYPOST_LOG: "silent" };
  await client.connect(new StdioClientTransport({ command, env, cwd: folder }));
  const url = "https://example.com/sale";
  const made = await client.callTool({
    name: "create_link",
    arguments: { path: "packed", url },
  });
  const address = `http://default.localhost:${port}/packed`;
  expect(made.structuredContent).toMatchObject({ link: { address } });
  expect(await visit(address)).toEqual({ status: 302, location: url });
  await client.close();
}

/** Returns stdout and stderr of npm, as it writes warnings to stderr. */
function runNpm(words: readonly string[], cwd: string): string {
  const line = ["npm", ...words, "2>&1"].join(" ");
  return execFileSync("sh", ["-c", line], { cwd, encoding: "utf8" });
}

function readScripts(folder: string): readonly string[] {
  const { scripts = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return Object.keys(scripts).filter((name) => /^(pre|post)?install$/.test(name));
}
