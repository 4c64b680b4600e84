import { posix, win32 } from "node:path";

/** The MCP clients that `waypost connect` can edit, and the file where each keeps its servers. */

export type Client = {
  readonly title: string;
  readonly format: "json" | "toml";
  /** The member of the file that holds the servers. */
  readonly key: string;
  /** The type that this client requires in an entry. */
  readonly type?: "stdio";
  /** The user's file, below a folder that depends on the system. */
  readonly userFile: readonly [folder: FolderName, ...path: string[]];
  /** The project's file. Claude Desktop and Windsurf have none. */
  readonly workspaceFile?: string;
  /**
   * The part of an entry that passes the key on from the client's environment. A project's file is
   * often in git, so it must not have the key itself. Zed replaces no variables in its settings.
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
} as const satisfies Readonly<Record<string, Client>>;

export type Machine = {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** Where the client keeps the servers of all projects of a user. */
export function findUserFile({ userFile }: Client, machine: Machine): string {
  const [folder, ...path] = userFile;
  return choosePath(machine).join(folders[folder](machine), ...path);
}

type FolderName = keyof typeof folders;

const folders = {
  home: ({ home }: Machine) => home,
  claudeCode: ({ env, home }: Machine) => env["CLAUDE_CONFIG_DIR"] || home,
  codex: ({ env, home, platform }: Machine) => {
    return env["CODEX_HOME"] || choosePath({ platform }).join(home, ".codex");
  },
  gemini: ({ env, home }: Machine) => env["GEMINI_CLI_HOME"] || home,
  /** Where Electron keeps the data of applications. */
  applications: (machine: Machine) => {
    const { home, platform } = machine;
    if (platform === "darwin") return posix.join(home, "Library", "Application Support");
    return platform === "win32" ? findRoaming(machine) : findXdg(machine);
  },
  zed: (machine: Machine) => {
    const { home, platform } = machine;
    if (platform === "darwin") return posix.join(home, ".config", "zed");
    if (platform === "win32") return win32.join(findRoaming(machine), "Zed");
    return posix.join(findXdg(machine), "zed");
  },
};

function findRoaming({ env, home }: Machine): string {
  return env["APPDATA"] || win32.join(home, "AppData", "Roaming");
}

function findXdg({ env, home }: Machine): string {
  return env["XDG_CONFIG_HOME"] || posix.join(home, ".config");
}

/** Tests use the paths of other systems. */
function choosePath({ platform }: Pick<Machine, "platform">) {
  return platform === "win32" ? win32 : posix;
}
