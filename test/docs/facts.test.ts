import { existsSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, test } from "vitest";
import { formats } from "../../src/bulk/files/foreign.ts";
import { renderHelp } from "../../src/commands/help.ts";
import { commands as commandList } from "../../src/commands/run-command.ts";
import { settingList } from "../../src/config/settings.ts";
import { bundle, createFolder, startServe } from "../support/command.ts";
import { listFiles } from "../support/folders.ts";
import { answering, openStage, ownerFacts } from "../support/stage.ts";
import { renderManifest } from "../tools/manifest.ts";

/** Statements of the documentation, compared with the code. */

const readme = readFileSync("README.md", "utf8");
const help = renderHelp(Object.values(commandList));
const tools = readFileSync("docs/reference/tools.md", "utf8");
const commands = ["npm ci && npm start", "npm ci && npm test"];

test("README.md starts with the commands that run and test Waypost", () => {
  const blocks = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, code]) => code?.trim());
  expect(blocks.slice(0, 2)).toEqual(commands);
});

test("CI runs the test command from the README", () => {
  expect(readFileSync(".ci/run", "utf8").split("\n")).toContain("npm ci && npm test");
});

test("every `npm test -- FILTER` in the documents and scripts matches a test file", () => {
  const paths = ["AGENTS.md", "docs/development.md", "package.json", "test/tools/test.js"];
  const text = paths.map((path) => readFileSync(path, "utf8")).join("\n");
  const filters = [...text.matchAll(/npm test -- ([\w/.-]+)/g)].map(([, filter = ""]) => filter);
  const files = listFiles("test").filter((path) => path.endsWith(".test.ts"));
  expect(filters.length).toBeGreaterThan(5);
  expect(filters.filter((filter) => !files.some((path) => path.includes(filter)))).toEqual([]);
});

test("docs/architecture.md lists every folder of src", () => {
  const holding = listFiles("src").map((path) => dirname(path));
  const folders = new Set([...holding, ...holding.map((folder) => dirname(folder))]);
  const parts = new Set(["schema", "handlers"]);
  const rooms = [...folders].filter((folder) => !parts.has(basename(folder)));
  const text = readFileSync("docs/architecture.md", "utf8");
  const listed = [...text.matchAll(/^\| `(src\/[\w/-]+)`/gm)].map(([, room]) => room);
  expect(new Set(listed)).toEqual(new Set(rooms.filter((room) => room.startsWith("src/"))));
});

test("every function named in docs/architecture.md exists in the named file", () => {
  const text = readFileSync("docs/architecture.md", "utf8");
  const named = [...text.matchAll(/`(\w+)` in\s+`(src\/[\w/-]+\.ts)`/g)];
  expect(named.length).toBeGreaterThan(15);
  const missing = named.filter(([, name = "", path = ""]) => {
    const source = existsSync(path) ? readFileSync(path, "utf8") : "";
    return !new RegExp(`^export (?:async )?(?:function|const) ${name}\\b`, "m").test(source);
  });
  expect(missing.map(([phrase]) => phrase)).toEqual([]);
});

test("manifest.json contains the current tools, version and settings", async () => {
  expect(readFileSync("manifest.json", "utf8")).toBe(await renderManifest());
});

test("manifest.json sets only known variables, each from a field that the user fills in", () => {
  const { server, user_config } = JSON.parse(readFileSync("manifest.json", "utf8"));
  for (const [variable, value] of Object.entries<string>(server.mcp_config.env)) {
    expect(settingList.map((setting) => setting.variable)).toContain(variable);
    const [, field = ""] = /^\$\{user_config\.(\w+)\}$/.exec(value) ?? [];
    expect(user_config[field]).toHaveProperty("default");
  }
});

describe("the client configurations in README.md", () => {
  const blocks = [...readme.matchAll(/```json\n([\s\S]*?)```/g)].map(([, json]) =>
    JSON.parse((json ?? "").replace("<your key>", "the-key")),
  );
  const servers = blocks.map((block) => (block.mcpServers ?? block.servers).waypost);

  test("start the built command with variables that it accepts", async () => {
    const started = servers.filter((server) => server.command !== undefined);
    expect(started.length).toBeGreaterThanOrEqual(4);
    for (const { command, args } of started) {
      expect([command, ...args]).toEqual(["node", "/path/to/waypost/dist/waypost.js"]);
    }
    const variables = new Map(started.map(({ env }) => [JSON.stringify(env), env]));
    for (const env of variables.values()) {
      await using folder = await createFolder();
      const settings = { ...env, WAYPOST_DATA: folder.path, WAYPOST_LOG: "silent" };
      const client = new Client({ name: "readme", version: "0" });
      await client.connect(
        new StdioClientTransport({ command: process.execPath, args: [bundle], env: settings }),
      );
      expect((await client.listTools()).tools.length).toBeGreaterThan(10);
      await client.close();
    }
  });

  test("connect over HTTP to a newly started server with its key", async () => {
    const server = servers.find(({ url }) => url !== undefined);
    expect(server.url).toBe("http://127.0.0.1:8787/mcp");
    await using folder = await createFolder();
    await using serving = await startServe(folder.path);
    const authorization = server.headers.Authorization.replace("the-key", serving.key);
    const transport = new StreamableHTTPClientTransport(new URL(serving.places.mcp), {
      requestInit: { headers: { authorization } },
    });
    const client = new Client({ name: "readme", version: "0" });
    await client.connect(transport);
    expect((await client.listTools()).tools.length).toBeGreaterThan(10);
    await client.close();
  });

  test("include a command that adds the built program to Claude Code", () => {
    expect(readme).toContain("claude mcp add waypost -- node /path/to/waypost/dist/waypost.js");
  });
});

test("docs/reference/tools.md lists every prompt and resource template", async () => {
  await using stage = await openStage({ send: answering(500, {}), known: { facts: ownerFacts } });
  const { prompts } = await stage.client.listPrompts();
  const { resourceTemplates } = await stage.client.listResourceTemplates();
  const addresses = resourceTemplates.map(({ uriTemplate }) => uriTemplate);
  const named = [...prompts.map(({ name }) => name), ...addresses];
  expect(named).toHaveLength(6);
  expect(named.filter((name) => !tools.includes(`\`${name}\``))).toEqual([]);
});

test("the help text and docs/bulk-and-import.md list every service with an importer", () => {
  const text = readFileSync("docs/bulk-and-import.md", "utf8");
  for (const { title } of formats) {
    expect(text).toMatch(new RegExp(`^\\| ${title.replace(".", "\\.")} +\\|`, "m"));
    expect(help.replace(/\s+/g, " ")).toContain(title);
  }
});
