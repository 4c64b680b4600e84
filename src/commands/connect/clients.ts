import { posix, win32 } from "node:path";

/** The MCP clients that `waypost connect` supports, and their settings files. */

export type McpClient = {
  readonly title: string;
  readonly format: "json" | "toml";
  /** The property in the file that contains the servers. */
  readonly key: string;
  /** The type that this client requires in an entry. */
  readonly type?: "stdio";
  /** The user's file, in a folder that depends on the operating system. */
  readonly userFile: readonly [folder: FolderName, ...path: string[]];
  /** The project's file. Claude Desktop and Windsurf have none. */
  readonly workspaceFile?: string;
  /**
   * The part of an entry that takes the key from the client's environment. A project's file is
   * often in git, so it must not contain the key. Zed does not replace variables.
   */
  readonly workspaceKey?: KeyMembers;
};

export type KeyMembers =
  | { readonly env: { readonly WAYPOST_API_KEY: string } }
  | { readonly env_vars: readonly ["WAYPOST_API_KEY"] };

export const clients = {
  "claude-desktop": {
    title: "Claude Desktop",
    format: "json",
    key: "mcpServers",
    userFile: ["applications", "Claude", "claude_desktop_config.json"],
  },
  "claude-code": {
    title: "Claude Code",
    format: "json",
    key: "mcpServers",
    userFile: ["claudeCode", ".claude.json"],
    workspaceFile: ".mcp.json",
    workspaceKey: { env: { WAYPOST_API_KEY: "${WAYPOST_API_KEY}" } },
  },
  cursor: {
    title: "Cursor",
    format: "json",
    key: "mcpServers",
    userFile: ["home", ".cursor", "mcp.json"],
    workspaceFile: ".cursor/mcp.json",
    workspaceKey: { env: { WAYPOST_API_KEY: "${env:WAYPOST_API_KEY}" } },
  },
  vscode: {
    title: "VS Code",
    format: "json",
    key: "servers",
    type: "stdio",
    userFile: ["applications", "Code", "User", "mcp.json"],
    workspaceFile: ".vscode/mcp.json",
    workspaceKey: { env: { WAYPOST_API_KEY: "${env:WAYPOST_API_KEY}" } },
  },
  codex: {
    title: "Codex",
    format: "toml",
    key: "mcp_servers",
    userFile: ["codex", "config.toml"],
    workspaceFile: ".codex/config.toml",
    workspaceKey: { env_vars: ["WAYPOST_API_KEY"] },
  },
  gemini: {
    title: "Gemini CLI",
    format: "json",
    key: "mcpServers",
    userFile: ["gemini", ".gemini", "settings.json"],
    workspaceFile: ".gemini/settings.json",
    workspaceKey: { env: { WAYPOST_API_KEY: "$WAYPOST_API_KEY" } },
  },
  windsurf: {
    title: "Windsurf",
    format: "json",
    key: "mcpServers",
    userFile: ["home", ".codeium", "windsurf", "mcp_config.json"],
  },
  zed: {
    title: "Zed",
    format: "json",
    key: "context_servers",
    userFile: ["zed", "settings.json"],
    workspaceFile: ".zed/settings.json",
  },
} as const satisfies Readonly<Record<string, McpClient>>;

export type Machine = {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** Returns the client's file for all projects of the user. */
export function findUserFile({ userFile }: McpClient, machine: Machine): string {
  const [folder, ...path] = userFile;
  const paths = machine.platform === "win32" ? win32 : posix;
  const join = (...parts: readonly string[]) => paths.join(...parts);
  return join(listFolders(machine, join)[folder], ...path);
}

type FolderName = keyof ReturnType<typeof listFolders>;

function listFolders(
  { platform, home, env }: Machine,
  join: (...parts: readonly string[]) => string,
) {
  const roaming = env["APPDATA"] || join(home, "AppData", "Roaming");
  const xdg = env["XDG_CONFIG_HOME"] || join(home, ".config");
  const choose = (mac: string, windows: string, others: string) =>
    platform === "darwin" ? mac : platform === "win32" ? windows : others;
  return {
    home,
    claudeCode: env["CLAUDE_CONFIG_DIR"] || home,
    codex: env["CODEX_HOME"] || join(home, ".codex"),
    gemini: env["GEMINI_CLI_HOME"] || home,
    /** The folder for application data in Electron. */
    applications: choose(join(home, "Library", "Application Support"), roaming, xdg),
    zed: choose(join(home, ".config", "zed"), join(roaming, "Zed"), join(xdg, "zed")),
  };
}
