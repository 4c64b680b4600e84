import { posix, win32 } from "node:path";

/** The MCP clients that `waypost connect` supports, and their settings files. */

export type McpClient = {
  readonly title: string;
  readonly format: "json" | "toml";
  /** The property of the file that contains the servers. */
  readonly key: string;
  /** The value of `type` that this client requires in an entry. */
  readonly type?: "stdio";
  readonly userFile: readonly [folder: FolderName, ...path: string[]];
  readonly workspaceFile?: string;
  /** Makes the client read the key from its environment, because a project's file may be in git. */
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

type FolderName = "home" | "claudeCode" | "codex" | "gemini" | "applications" | "zed";

export function findUserFile({ userFile }: McpClient, { platform, home, env }: Machine): string {
  const paths = platform === "win32" ? win32 : posix;
  const roaming = env["APPDATA"] || paths.join(home, "AppData", "Roaming");
  const xdg = env["XDG_CONFIG_HOME"] || paths.join(home, ".config");
  const choose = (mac: readonly string[], windows: string, others: string) =>
    platform === "darwin" ? paths.join(home, ...mac) : platform === "win32" ? windows : others;
  const folders: Readonly<Record<FolderName, string>> = {
    home,
    claudeCode: env["CLAUDE_CONFIG_DIR"] || home,
    codex: env["CODEX_HOME"] || paths.join(home, ".codex"),
    gemini: env["GEMINI_CLI_HOME"] || home,
    /** The folder where Electron apps store their data. */
    applications: choose(["Library", "Application Support"], roaming, xdg),
    zed: choose([".config", "zed"], paths.join(roaming, "Zed"), paths.join(xdg, "zed")),
  };
  const [folder, ...path] = userFile;
  return paths.join(folders[folder], ...path);
}
