import { existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, test } from "vitest";
import { clients, findUserFile, type McpClient } from "../../src/commands/connect/clients.ts";
import { bundle, runProcess, runHere } from "../support/command.ts";
import { parse, startsHere, useHome } from "./client-home.ts";

/** `waypost connect` edits the settings file of a client, which users edit too. */

const { home, run, fill, read, listBackups } = useHome();

/** A test of docs/clients.md checks this table. */
const cases = Object.entries<McpClient>(clients).map(([client, each]) => {
  const file = findUserFile(each, { platform: "linux", home: "", env: {} });
  return { client, file, ...each, workspace: each.workspaceFile };
});

/** Files as users and clients write them, without an entry of ours. */
const filledJson = (key: string) => `// Written by me
{
  /* how it looks */
  "theme": "dark", // and stays
  "${key}": {
    "other": { "command": "other", "args": ["its-secret"] }, // a neighbour
    // switched off: "third": {}
  },
}
`;
const filledToml = `# Written by me
model = "some-model" # and stays

[mcp_servers.other]
command = "other" # a neighbour
args = [ "[mcp_servers.waypost]", "its-secret" ]

# how it looks
[tui]
theme = "dark"
`;

describe.each(cases)(
  "waypost connect $client",
  ({ client, file, key, workspace, type, ...each }) => {
    const entry = { ...(type !== undefined && { type }), ...startsHere };

    test("prints the entry and the settings file's path, but writes nothing", async () => {
      const { code, stdout, stderr } = await run([client]);
      expect(code).toBe(0);
      expect(parse(file, stdout)).toEqual({ [key]: { waypost: entry } });
      expect(stderr).toContain(join(home(), file));
      expect(existsSync(join(home(), file))).toBe(false);
    });

    test.runIf(workspace !== undefined)("with --workspace prints no key", async () => {
      const base = ["--base-url", "https://links.example.com"];
      const { stdout, stderr } = await run([client, "--workspace", ...base]);
      const printed = parse(file, stdout)[key].waypost;
      const args = [...startsHere.args, ...base];
      const placeholder = { env: { WAYPOST_API_KEY: "<your key>" } };
      expect(printed).toEqual({ ...entry, args, ...(each.workspaceKey ?? placeholder) });
      expect(stderr).toContain(
        each.workspaceKey === undefined
          ? "never commit that file"
          : "The file has no key. Set WAYPOST_API_KEY",
      );
    });

    test.runIf(workspace === undefined)("does not support the flag --workspace", async () => {
      const { code, stderr } = await run([client, "--workspace"]);
      expect({ code, stderr }).toMatchObject({ code: 2 });
      expect(stderr).toContain("no per-project settings file");
    });
  },
);

/** One client for each format of a file. The others differ only in names. */
describe.each(cases.filter(({ client }) => ["vscode", "codex"].includes(client)))(
  "the settings file of $client",
  ({ client, file, key, workspace, type }) => {
    const entry = { ...(type !== undefined && { type }), ...startsHere };
    const filled = file.endsWith(".toml") ? filledToml : filledJson(key);

    test("is created with --write, and a second run changes nothing", async () => {
      expect(await run([client, "--write", "--yes"])).toMatchObject({ code: 0 });
      const written = read(file);
      expect(parse(file, written)).toEqual({ [key]: { waypost: entry } });
      expect(statSync(join(home(), file)).mode & 0o777).toBe(0o600);
      const again = await run([client, "--write"]);
      expect(again).toMatchObject({ code: 0, stderr: "" });
      expect(again.stdout).toContain("already has this entry");
      expect(read(file)).toBe(written);
      expect(listBackups(file)).toEqual([]);
      expect(await run([client, "--remove", "--yes"])).toMatchObject({ code: 0 });
      expect(parse(file, read(file))).toEqual({});
    });

    test("keeps its other entries with --write, and --remove restores the original", async () => {
      fill(file, filled);
      const { code, stdout, stderr } = await run([client, "--write"], "yes\n");
      expect(code).toBe(0);
      expect(stdout + stderr).not.toContain("its-secret");
      expect(stderr).toContain(`${file}.waypost-backup-`);
      const written = read(file);
      const before = parse(file, filled);
      expect(parse(file, written)).toEqual({
        ...before,
        [key]: { ...before[key], waypost: entry },
      });
      for (const line of filled.split("\n")) expect(written).toContain(line);
      expect(await run([client, "--remove"], "yes\n")).toMatchObject({ code: 0 });
      expect(read(file)).toBe(filled);
      expect(listBackups(file).map(read)).toEqual([filled, written]);
      const again = await run([client, "--remove"]);
      expect(again).toMatchObject({ code: 0, stderr: "" });
      expect(again.stdout).toContain("has no entry");
    });

    test("keeps its entry until the user has seen it and approves a different one", async () => {
      await run([client, "--write", "--yes", "--data", join(home(), "old")]);
      const old = read(file);
      const refused = await run([client, "--write"], "no\n");
      expect(refused).toMatchObject({ code: 1 });
      expect(refused.stderr).toContain("another entry named waypost");
      expect(refused.stderr).toContain(join(home(), "old"));
      expect(refused.stderr).toContain("replaced by");
      expect(read(file)).toBe(old);
      expect(await run([client, "--write"], "yes\n")).toMatchObject({ code: 0 });
      expect(parse(file, read(file))).toEqual({ [key]: { waypost: entry } });
    });

    test.each([
      { title: "the answer is no", typed: "no\n", code: 1 },
      { title: "the input is empty", typed: "", code: 1 },
      { title: "there is no terminal", typed: undefined, code: 2 },
    ])("stays unchanged, and the command fails, if $title", async ({ typed, code }) => {
      fill(file, filled);
      expect(await run([client, "--write"], typed)).toMatchObject({ code });
      expect(read(file)).toBe(filled);
      expect(listBackups(file)).toEqual([]);
    });

    test("is refused with the number of the line if the file is malformed", async () => {
      const broken = `${filled}\n}{ broken`;
      fill(file, broken);
      const { code, stderr } = await run([client, "--write", "--yes"]);
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringContaining(`at line ${broken.split("\n").length}`),
      });
      expect(read(file)).toBe(broken);
    });

    test("is created in the project with --workspace and --write", async () => {
      const project = join(home(), "project");
      mkdirSync(project);
      const words = ["connect", client, "--workspace", "--write", "--yes"];
      const options = { env: { HOME: home() }, under: ["env", "-C", project] };
      expect(await runProcess(words, options)).toMatchObject({ code: 0 });
      const text = read(join("project", workspace ?? ""));
      expect(parse(file, text)).toEqual({ [key]: { waypost: entry } });
      expect(existsSync(join(home(), file))).toBe(false);
    });
  },
);

test("a client that uses the written settings file can list the tools", async () => {
  const words = ["claude-desktop", "--write", "--yes", "--data", join(home(), "data")];
  expect(await run(words)).toMatchObject({ code: 0 });
  const { mcpServers } = JSON.parse(read(".config/Claude/claude_desktop_config.json"));
  const { command, args } = mcpServers.waypost;
  const client = new Client({ name: "connected", version: "0" });
  // A desktop client starts it in the root folder, with little of an environment.
  const env = { HOME: home(), WAYPOST_LOG: "silent" };
  await client.connect(new StdioClientTransport({ command, args, env, cwd: "/" }));
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toContain("create_link");
  await client.close();
  expect(existsSync(join(home(), "data"))).toBe(true);
});

describe("the entry that waypost connect writes", () => {
  test("contains the base URL and the path of the key file", async () => {
    const env = { HOME: home(), WAYPOST_API_KEY_FILE: "links.key" };
    const base = ["--base-url", "https://links.example.com"];
    const { stdout } = await runHere(["connect", "cursor", ...base], env);
    expect(JSON.parse(stdout).mcpServers.waypost).toEqual({
      command: process.execPath,
      args: [bundle, ...base],
      env: { WAYPOST_API_KEY_FILE: join(process.cwd(), "links.key") },
    });
  });

  test.each(["cursor", "codex"])(
    "for %s never contains a key from the shell's environment",
    async (client) => {
      const env = {
        HOME: home(),
        WAYPOST_API_KEY: "the-secret",
        WAYPOST_BASE_URL: "https://links.example.com",
      };
      const { stdout, stderr } = await runHere(["connect", client], env);
      expect(stdout + stderr).not.toContain("the-secret");
      expect(stdout).toContain("<your key>");
      expect(stderr).toContain("Replace <your key>");
    },
  );

  test.each(["cursor", "codex"])("for %s keeps a key that the user has added", async (client) => {
    const file = cases.find((each) => each.client === client)?.file ?? "";
    const base = ["--base-url", "https://links.example.com"];
    await run([client, ...base, "--write", "--yes"]);
    const written = read(file).replace("<your key>", "the-secret");
    fill(file, written);
    expect(await run([client, ...base, "--write"])).toMatchObject({ code: 0, stderr: "" });
    expect(read(file)).toBe(written);
    const { stderr } = await run([client, ...base, "--data", home(), "--write", "--yes"]);
    expect(read(file)).toContain("the-secret");
    expect(stderr).not.toContain("the-secret");
    expect(stderr).toContain("(hidden)");
  });

  test("for a project's settings file refers to an environment variable, not a key", async () => {
    const project = join(home(), "project");
    mkdirSync(project);
    const base = ["--base-url", "https://links.example.com"];
    const words = ["connect", "cursor", "--workspace", ...base, "--write", "--yes"];
    const options = { env: { HOME: home() }, under: ["env", "-C", project] };
    const { stderr } = await runProcess(words, options);
    expect(stderr).toContain('"WAYPOST_API_KEY": "${env:WAYPOST_API_KEY}"');
    expect(read("project/.cursor/mcp.json")).not.toContain("<your key>");
  });

  test("for a project's settings file can contain the path of a key file", async () => {
    const env = { HOME: home(), WAYPOST_API_KEY_FILE: "/home/me/links.key" };
    const base = ["--base-url", "https://links.example.com"];
    const { stdout, stderr } = await runHere(["connect", "zed", "--workspace", ...base], env);
    expect(JSON.parse(stdout).context_servers.waypost.env).toEqual({
      WAYPOST_API_KEY_FILE: "/home/me/links.key",
    });
    expect(stderr).not.toContain("key with your key");
  });

  test.each([
    ["of another program", { command: "other", args: ["the-secret"], url: "the-secret" }],
    ["with a password", startsWith("--database-url", "postgres://me:the-secret@db/links")],
    ["with a password after =", startsWith("--database-url=postgres://me:the-secret@db/links")],
    ["with a token", startsWith("--some-token", "the-secret")],
  ])("replaces an entry %s, and no secret of the old entry is printed", async (_, old) => {
    const file = ".cursor/mcp.json";
    const text = JSON.stringify({ mcpServers: { waypost: old } });
    for (const word of ["--write", "--remove"]) {
      fill(file, text);
      const { code, stdout, stderr } = await run(["cursor", word, "--yes"]);
      expect(code).toBe(0);
      expect(stdout + stderr).not.toContain("the-secret");
    }
  });

  test("keeps the user's settings, but not the key, when the base URL changes", async () => {
    const base = ["--base-url", "https://links.example.com"];
    await run(["cursor", ...base, "--write", "--yes"]);
    const file = ".cursor/mcp.json";
    const { mcpServers } = JSON.parse(read(file));
    mcpServers.waypost.env = { WAYPOST_API_KEY: "the-secret", WAYPOST_MODE: "read-only" };
    fill(file, JSON.stringify({ mcpServers }));
    await run(["cursor", "--base-url", "https://other.example.com", "--write", "--yes"]);
    expect(JSON.parse(read(file)).mcpServers.waypost.env).toEqual({
      WAYPOST_API_KEY: "<your key>",
      WAYPOST_MODE: "read-only",
    });
  });

  test("contains the data folder from WAYPOST_DATA but no other shell variables", async () => {
    const env = { HOME: home(), WAYPOST_DATA: "/srv/waypost", WAYPOST_MODE: "read-only" };
    const { stdout, stderr } = await runHere(["connect", "cursor"], env);
    expect(JSON.parse(stdout).mcpServers.waypost.args).toEqual([bundle, "--data", "/srv/waypost"]);
    // The test kit sets the console's path.
    expect(stderr).toContain(
      "Cursor does not see these variables from this shell: WAYPOST_CONSOLE_PATH, WAYPOST_MODE.",
    );
    expect(stderr).toContain("To keep your settings, add the variables to the entry's env.");
  });

  test("for a project's settings file has no password and is printed with a warning", async () => {
    const env = { HOME: home(), WAYPOST_DATABASE_URL: "postgres://me:the-secret@db/links" };
    const { stdout, stderr } = await runHere(["connect", "cursor", "--workspace"], env);
    expect(stdout + stderr).not.toContain("the-secret");
    expect(stderr).toContain("Never put a password or a token there.");
  });

  test("is not written if --mode is given, and the error suggests WAYPOST_MODE", async () => {
    const { code, stderr } = await run(["cursor", "--mode", "read-only"]);
    expect(code).toBe(2);
    expect(stderr).toContain("add WAYPOST_MODE to the entry's env");
  });
});

function startsWith(...args: readonly string[]) {
  return { ...startsHere, args: [...startsHere.args, ...args] };
}

test.each([[[]], [["emacs"]], [["cursor", "vscode"]], [["cursor", "--write", "--remove"]]])(
  "waypost connect %j is refused",
  async (words) => {
    const { code, stdout } = await run(words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  },
);
