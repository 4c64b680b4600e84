import { chmodSync, mkdirSync, readFileSync, readlinkSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  findUserFile,
  clients,
  type McpClient,
  type Machine,
} from "../../src/commands/connect/clients.ts";
import { parse, startsHere, useHome } from "./client-home.ts";
import { runProcess } from "../support/command.ts";

/** `waypost connect` finds the settings files of clients and keeps the users' own content. */

const { home, run, fill, read, listBackups } = useHome();

const systems: readonly (Machine & { readonly files: readonly string[] })[] = [
  {
    platform: "darwin",
    home: "/Users/me",
    env: { XDG_CONFIG_HOME: "/elsewhere" },
    files: [
      "/Users/me/Library/Application Support/Claude/claude_desktop_config.json",
      "/Users/me/.claude.json",
      "/Users/me/.cursor/mcp.json",
      "/Users/me/Library/Application Support/Code/User/mcp.json",
      "/Users/me/.codex/config.toml",
      "/Users/me/.gemini/settings.json",
      "/Users/me/.codeium/windsurf/mcp_config.json",
      "/Users/me/.config/zed/settings.json",
    ],
  },
  {
    platform: "win32",
    home: String.raw`C:\Users\me`,
    env: { APPDATA: String.raw`D:\Roaming` },
    files: [
      String.raw`D:\Roaming\Claude\claude_desktop_config.json`,
      String.raw`C:\Users\me\.claude.json`,
      String.raw`C:\Users\me\.cursor\mcp.json`,
      String.raw`D:\Roaming\Code\User\mcp.json`,
      String.raw`C:\Users\me\.codex\config.toml`,
      String.raw`C:\Users\me\.gemini\settings.json`,
      String.raw`C:\Users\me\.codeium\windsurf\mcp_config.json`,
      String.raw`D:\Roaming\Zed\settings.json`,
    ],
  },
  {
    platform: "linux",
    home: "/home/me",
    env: {
      XDG_CONFIG_HOME: "/xdg",
      CLAUDE_CONFIG_DIR: "/claude",
      CODEX_HOME: "/codex",
      GEMINI_CLI_HOME: "/google",
    },
    files: [
      "/xdg/Claude/claude_desktop_config.json",
      "/claude/.claude.json",
      "/home/me/.cursor/mcp.json",
      "/xdg/Code/User/mcp.json",
      "/codex/config.toml",
      "/google/.gemini/settings.json",
      "/home/me/.codeium/windsurf/mcp_config.json",
      "/xdg/zed/settings.json",
    ],
  },
];

test.each(systems)(
  "waypost connect finds each client's default settings file on $platform",
  ({ files, ...machine }) => {
    const found = Object.values(clients).map((client) => findUserFile(client, machine));
    expect(found).toEqual(files);
  },
);

test("docs/clients.md lists each client's settings files and how each client gets the key", () => {
  const page = readFileSync("docs/clients.md", "utf8");
  const rows = [...page.matchAll(/^\| `([a-z-]+)` +\|(.+)\|$/gm)].map(([, name, cells = ""]) => {
    return [name, ...cells.split("|").map((cell) => cell.trim())];
  });
  const machine: Machine = { platform: "linux", home: "~", env: {} };
  const expected = Object.entries<McpClient>(clients).map(([name, client]) => [
    name,
    `\`${findUserFile(client, machine)}\``,
    client.workspaceFile === undefined ? "none" : `\`${client.workspaceFile}\``,
    describeKey(client),
  ]);
  expect(rows).toEqual(expected);
});

function describeKey({ workspaceFile, workspaceKey }: McpClient): string {
  if (workspaceFile === undefined || workspaceKey === undefined) return "none";
  if ("env_vars" in workspaceKey) return "`env_vars`";
  return `\`${workspaceKey.env.WAYPOST_API_KEY}\``;
}

async function expectRefused(client: string, file: string, text: string, message: string) {
  fill(file, text);
  const { code, stderr } = await run([client, "--write", "--yes"]);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
  expect(read(file)).toBe(text);
}

describe("a settings file", () => {
  const file = ".cursor/mcp.json";

  test("keeps its line endings and indentation", async () => {
    const text = '{\r\n\t"mcpServers": {\r\n\t\t"other": { "command": "a" }\r\n\t}\r\n}\r\n';
    fill(file, text);
    await run(["cursor", "--write", "--yes"]);
    const written = read(file);
    expect(written.startsWith('{\r\n\t"mcpServers"')).toBe(true);
    expect(written).toContain('\r\n\t\t"waypost": {\r\n\t\t\t"command"');
    expect(written.replaceAll("\r\n", "")).not.toContain("\n");
    await run(["cursor", "--remove", "--yes"]);
    expect(read(file)).toBe(text);
  });

  test("keeps its line endings even in Codex's TOML format", async () => {
    const text = 'model = "m"\r\n\r\n[tui]\r\ntheme = "dark"\r\n';
    fill(".codex/config.toml", text);
    await run(["codex", "--write", "--yes"]);
    const written = read(".codex/config.toml");
    expect(written.startsWith(text)).toBe(true);
    expect(written.replaceAll("\r\n", "")).not.toContain("\n");
    await run(["codex", "--remove", "--yes"]);
    expect(read(".codex/config.toml")).toBe(text);
  });

  test("keeps its file mode, and its backup has the same mode", async () => {
    chmodSync(fill(file, "{}"), 0o664);
    await run(["cursor", "--write", "--yes"]);
    const names = [file, ...listBackups(file)];
    expect(names).toHaveLength(2);
    for (const name of names) {
      expect(statSync(join(home(), name)).mode & 0o777).toBe(0o664);
    }
  });

  test("is backed up before each change, so the user's original is kept", async () => {
    fill(file, "{}");
    await run(["cursor", "--write", "--yes"]);
    await run(["cursor", "--write", "--yes", "--data", home()]);
    await run(["cursor", "--remove", "--yes"]);
    const [first = "", ...more] = listBackups(file);
    expect(read(first)).toBe("{}");
    expect(more).toHaveLength(2);
  });

  test("is edited in place if its path is a symbolic link", async () => {
    const target = fill("dotfiles/mcp.json", "{}");
    mkdirSync(join(home(), ".cursor"));
    symlinkSync(target, join(home(), file));
    const { stderr } = await run(["cursor", "--write", "--yes"]);
    expect(stderr).toContain(`${target}.waypost-backup-`);
    expect(readlinkSync(join(home(), file))).toBe(target);
    expect(JSON.parse(read("dotfiles/mcp.json")).mcpServers.waypost).toEqual(startsHere);
  });

  test("is refused if its path is a symbolic link to a missing file", async () => {
    mkdirSync(join(home(), ".cursor"));
    symlinkSync(join(home(), "missing.json"), join(home(), file));
    const { code, stderr } = await run(["cursor", "--write", "--yes"]);
    expect(code).toBe(2);
    expect(stderr).toContain("is a symbolic link to a file that does not exist");
    expect(readlinkSync(join(home(), file))).toBe(join(home(), "missing.json"));
  });

  test.each(["the file", "its folder"])(
    "is refused if %s is a symbolic link to a place outside the project",
    async (linked) => {
      const project = join(home(), "project");
      const target = fill(file, "{}");
      mkdirSync(linked === "the file" ? join(project, ".cursor") : project, { recursive: true });
      if (linked === "the file") symlinkSync(target, join(project, file));
      else symlinkSync(join(home(), ".cursor"), join(project, ".cursor"));
      const words = ["connect", "cursor", "--workspace", "--write", "--yes"];
      const options = { env: { HOME: home() }, under: ["env", "-C", project] };
      const { code, stderr } = await runProcess(words, options);
      expect(code).toBe(2);
      expect(stderr).toContain("outside this folder; nothing was changed");
      expect(read(file)).toBe("{}");
    },
  );

  test("of a project gets a new entry without the old one's environment variables", async () => {
    const project = join(home(), "project");
    const env = { WAYPOST_API_KEY: "planted", WAYPOST_MODE: "full" };
    fill(`project/${file}`, JSON.stringify({ mcpServers: { waypost: { command: "x", env } } }));
    const words = ["connect", "cursor", "--workspace", "--write", "--yes"];
    const options = { env: { HOME: home() }, under: ["env", "-C", project] };
    expect(await runProcess(words, options)).toMatchObject({ code: 0 });
    const { mcpServers } = JSON.parse(read(`project/${file}`));
    expect(mcpServers.waypost).toEqual(startsHere);
  });

  test("is not overwritten if another process changes it during the prompt", async () => {
    fill(file, "{}");
    function* type() {
      fill(file, '{"a": 1}');
      yield "yes\n";
    }
    const { code, stderr } = await run(["cursor", "--write"], type());
    expect(code).toBe(2);
    expect(stderr).toContain("was changed by another process");
    expect(read(file)).toBe('{"a": 1}');
  });

  test("with a byte order mark is edited like any other file", async () => {
    fill(file, '\ufeff{"a": 1}');
    expect(await run(["cursor", "--write", "--yes"])).toMatchObject({ code: 0 });
    expect(JSON.parse(read(file))).toMatchObject({ a: 1, mcpServers: { waypost: startsHere } });
  });

  test("gets Waypost's entry even if it is empty or contains only comments", async () => {
    for (const text of ["", "  \n", "// mine\n"]) {
      fill(file, text);
      expect(await run(["cursor", "--write", "--yes"])).toMatchObject({ code: 0 });
      expect(parse(file, read(file)).mcpServers.waypost).toEqual(startsHere);
      expect(read(file)).toContain(text.trim());
    }
  });

  test.each([
    ["[]", "must be an object"],
    ['"text"', "must be an object"],
    ['{"mcpServers": []}', "must be an object"],
    ['{"mcpServers": {"waypost": {}, "waypost": {}}}', "cannot edit the servers in"],
  ])("is refused and not changed if it contains %s", async (text, message) => {
    await expectRefused("cursor", file, text, message);
  });

  test("is refused if it is not UTF-8 or if a folder in its path is a file", async () => {
    fill(".cursor", "not a folder");
    const { code, stderr } = await run(["cursor", "--write", "--yes"]);
    expect(code).toBe(2);
    expect(stderr).toContain("cannot be read: part of its path is a file");
    fill(".codex/config.toml", Buffer.from("\ufeff{}", "utf16le"));
    expect((await run(["codex", "--write", "--yes"])).stderr).toContain("is not UTF-8 text");
  });

  test.each([
    '{"mcpServers":{"other":{}}}',
    '{"mcpServers":{}}',
    '{"a": 1}',
    '{\n  "mcpServers": {\n    "other": {} // last\n  }\n}',
    '{\n  "mcpServers": { /* none yet */ }\n}',
    '{\n  // first\n  "mcpServers": {\n    // second\n  } /* third */,\n  "b": 2\n}\n',
  ])("keeps the rest of its text when Waypost's entry is added: %j", async (text) => {
    fill(file, text);
    await run(["cursor", "--write", "--yes"]);
    const written = parse(file, read(file));
    const { waypost, ...others } = written.mcpServers;
    expect(waypost).toEqual(startsHere);
    const before = parse(file, text);
    expect({ ...written, mcpServers: others }).toEqual({ mcpServers: {}, ...before });
    await run(["cursor", "--remove", "--yes"]);
    expect({ mcpServers: {}, ...parse(file, read(file)) }).toEqual({ mcpServers: {}, ...before });
    const comments = text.match(/\/\/.*|\/\*.*?\*\//g) ?? [];
    for (const comment of comments) expect(read(file)).toContain(comment);
  });

  test("gets the default indentation if it was a single line", async () => {
    fill(file, '{ "b": 2 }');
    await run(["cursor", "--write", "--yes"]);
    expect(read(file)).toMatch(/^\{\n {2}"mcpServers": \{\n[^]*\n {2}\},\n {2}"b": 2\n\}$/);
  });

  test.each([
    ['{"mcpServers": {"waypost": {}, "b": {}}}', '{"mcpServers": { "b": {}}}'],
    ['{"mcpServers": {"waypost": {} /* mine */}}', '{"mcpServers": { /* mine */}}'],
    ['{"mcpServers": {"a": 1, // one\n"waypost": {}, "b": 2}}', "// one\n"],
    ['{"mcpServers": {"a": 1 /* , */, "waypost": {} /* two */}}', '{"a": 1 /* , */  /* two */}'],
    ['{"mcpServers": {\n// three\n"waypost": {},\n// four\n"b": 2}}', "// three\n// four\n"],
  ])("keeps everything except Waypost's entry when --remove is used: %j", async (text, kept) => {
    fill(file, text);
    expect(await run(["cursor", "--remove", "--yes"])).toMatchObject({ code: 0 });
    expect(read(file)).toContain(kept);
    const { waypost: _, ...others } = parse(file, text).mcpServers;
    expect(parse(file, read(file))).toEqual({ mcpServers: others });
  });

  test.each([
    ['{"mcpServers": {"waypost": {}}}', "{}"],
    ['{"a": 1, "mcpServers": {"waypost": {},},}\n', '{"a": 1, }\n'],
    ['{\n  "mcpServers": {\n    "waypost": {}\n  },\n  "b": 2\n}', '{\n  "b": 2\n}'],
  ])("contains no empty object after --remove deletes Waypost's entry: %j", async (text, kept) => {
    fill(file, text);
    expect(await run(["cursor", "--remove", "--yes"])).toMatchObject({ code: 0 });
    expect(read(file)).toBe(kept);
  });
});

describe("Codex's settings file", () => {
  const file = ".codex/config.toml";

  test("gets Waypost's new table even if other tables separate the old ones", async () => {
    fill(
      file,
      `[mcp_servers."waypost"]
command = "old"
args = [
  "old",
]

# of tui
[tui]
theme = "dark"

[mcp_servers.waypost.env] # ours
OLD = "1"

[mcp_servers.waypost-two]
command = "two"
`,
    );
    expect(await run(["codex", "--write", "--yes"])).toMatchObject({ code: 0 });
    expect(read(file)).toBe(`[mcp_servers.waypost]
command = "${process.execPath}"
args = [ "${startsHere.args[0]}" ]

# of tui
[tui]
theme = "dark"

[mcp_servers.waypost-two]
command = "two"
`);
    await run(["codex", "--remove", "--yes"]);
    expect(read(file)).toMatch(/^\n# of tui\n\[tui\]/);
  });

  test.each([
    '[mcp_servers]\nwaypost = { command = "old" }\n',
    'mcp_servers.waypost.command = "old"\n',
    'mcp_servers = { other = { command = "a" } }\n',
    'text = """\n[mcp_servers.waypost]\n"""\n',
  ])("is refused and not changed if it contains %j", async (text) => {
    await expectRefused("codex", file, text, "connect cannot edit the servers in");
  });

  test("gets Waypost's entry on new lines even if it ends without a newline", async () => {
    fill(file, 'model = "m"');
    await run(["codex", "--write", "--yes"]);
    expect(read(file)).toMatch(/^model = "m"\n\n\[mcp_servers\.waypost\]\n/);
  });
});
