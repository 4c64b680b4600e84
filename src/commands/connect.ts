import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, resolve, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { UsageFault, type Config } from "../config.ts";
import { settingList, settings } from "../config/settings.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { quote, showHidden } from "../text/show-hidden.ts";
import { readClientFile, replaceClientFile } from "./connect/client-file.ts";
import { clients, findUserFile, type KeyMembers, type McpClient } from "./connect/clients.ts";
import { formats, serverName } from "./connect/file-formats.ts";
import { confirmAtTerminal, listenForStop } from "./terminal/ask-to-go-on.ts";
import { yesHelp, type Command, type Runtime, type Invocation } from "./terminal/command.ts";
import { print, say } from "./terminal/output.ts";

/** `waypost connect` adds Waypost to an MCP client's settings, or removes it. */

const withoutProjectFile = Object.entries<McpClient>(clients).flatMap(
  ([name, { workspaceFile }]) => (workspaceFile === undefined ? [name] : []),
);

const connectFlags = {
  CLIENT: `one of ${Object.keys(clients).join(", ")}`,
  "--write": "add the entry to the client's file, and keep everything else in it",
  "--remove": "remove the entry from the file",
  "--workspace":
    "use the project's file in this folder instead of the user's; " +
    `${withoutProjectFile.join(" and ")} have none`,
  "--yes": yesHelp,
};

export const connect: Command<typeof connectFlags> = {
  usages: {
    "connect CLIENT": [
      "print the settings entry for an MCP client, or write it into the client's file",
      run,
    ],
  },
  flags: connectFlags,
  notes:
    "`--data` and `--base-url` become arguments of the entry. To add a key, set " +
    "`WAYPOST_API_KEY_FILE`.",
};

type ConnectInvocation = Invocation<typeof connectFlags>;

async function run(invocation: ConnectInvocation, name: string): Promise<boolean | void> {
  const { config, flags, runtime } = invocation;
  const client = new Map<string, McpClient>(Object.entries(clients)).get(name);
  if (client === undefined) {
    throw new UsageFault(`use connect with ${connectFlags.CLIENT} (see waypost --help)`);
  }
  if (flags.write === true && flags.remove === true) {
    throw new UsageFault("connect takes --write or --remove, not both");
  }
  const isWorkspace = flags.workspace === true;
  const file = findFile(client, runtime.env, isWorkspace);
  const entry = createEntry(config, await realpath(runtime.program), client, isWorkspace);
  if (flags.remove === true) return edit(invocation, client, file);
  if (flags.write === true) return edit(invocation, client, file, entry);
  print(formats[client.format].edit("", client.key, entry).trimEnd());
  say(`Add this to ${file}, or run the command again with --write.`);
  explainEnvironment(invocation, client, entry, file);
}

function findFile(client: McpClient, env: Runtime["env"], isWorkspace: boolean): string {
  if (isWorkspace) {
    if (client.workspaceFile !== undefined) return resolve(client.workspaceFile);
    throw new UsageFault(`${client.title} has no per-project settings file; omit --workspace`);
  }
  const { platform } = process;
  const home = (platform === "win32" ? env["USERPROFILE"] : env["HOME"]) || homedir();
  return findUserFile(client, { platform, home, env });
}

/** Writes the entry, or removes the existing one if `entry` is undefined. */
async function edit(
  invocation: ConnectInvocation,
  client: McpClient,
  filePath: string,
  created?: ServerEntry,
): Promise<boolean> {
  const { flags, runtime } = invocation;
  const isWorkspace = flags.workspace === true;
  const file = await readClientFile(filePath);
  if (isWorkspace) await requireInside(file.path);
  const path = showHidden(file.path);
  const { text = "" } = file;
  const name = quote(file.path, 200);
  const current = readServers(name, text, client);
  if ("fault" in current) throw new UsageFault(current.fault);
  const { [serverName]: old, ...others } = current.servers;
  // Anyone may have written a project's file, so its environment variables are not kept.
  const entry = created && !isWorkspace ? keepEnv(created, old) : created;
  if (isDeepStrictEqual(old, entry)) {
    print(`${path} ${entry === undefined ? "has no entry" : "already has this entry"}.`);
    return true;
  }
  const changed = formats[client.format].edit(text, client.key, entry);
  const servers = { ...others, ...(entry && { [serverName]: entry }) };
  if (!isDeepStrictEqual(readServers(name, changed, client), { ...current, servers })) {
    throw new UsageFault(
      `connect cannot edit the servers in ${name}; nothing was changed. ` +
        "Edit the file yourself: waypost connect prints the entry",
    );
  }
  say(describeChange(path, client, old, entry));
  if (flags.yes !== true && !(await confirmAtTerminal(runtime.input, listenForStop(runtime)))) {
    say("Nothing was changed.");
    return false;
  }
  const backup = await replaceClientFile(file, changed);
  print(`${entry === undefined ? "Removed" : "Wrote"} the entry ${serverName} in ${path}.`);
  if (backup !== undefined) say(`The old file is saved as ${backup}.`);
  if (entry !== undefined) explainEnvironment(invocation, client, entry, path);
  say(`Restart ${client.title} for the change to take effect.`);
  return true;
}

/** Rejects paths outside the project, because a symbolic link could point to any file. */
async function requireInside(path: string): Promise<void> {
  const folder = await realpath(process.cwd());
  let existing = path;
  while (!existsSync(existing)) existing = dirname(existing);
  const place = await realpath(existing);
  if (place === folder || place.startsWith(`${folder}${sep}`)) return;
  throw new UsageFault(
    `a symbolic link puts ${quote(path, 200)} outside this folder; nothing was changed`,
  );
}

function readServers(
  name: string,
  text: string,
  { format, key }: McpClient,
): { readonly rest: JsonObject; readonly servers: JsonObject } | { readonly fault: string } {
  const parsed = formats[format].parse(text);
  if ("brokenLine" in parsed) {
    const fault = `${name} is not valid ${formats[format].name} at line ${parsed.brokenLine}`;
    return { fault: `${fault}; nothing was changed. Fix it first` };
  }
  const { value } = parsed;
  if (!isJsonObject(value)) return { fault: `${name} must be an object; nothing was changed` };
  const { [key]: servers = {}, ...rest } = value;
  if (isJsonObject(servers)) return { rest, servers };
  return { fault: `${key} in ${name} must be an object; nothing was changed` };
}

/**
 * Copies the variables that the user added to the old entry, such as the real API key. Secrets are
 * copied only if the entry still names the same server, so that no other server receives them.
 */
function keepEnv(entry: ServerEntry, old: unknown): ServerEntry {
  if (!isJsonObject(old) || !isJsonObject(old["env"])) return entry;
  const isSameServer = isDeepStrictEqual(readBaseUrl(old["args"]), readBaseUrl(entry.args));
  const hasPlaceholder = entry.env?.["WAYPOST_API_KEY"] !== undefined;
  const isKept = (name: string) =>
    name.startsWith("WAYPOST_") &&
    (!entryVariables.has(name) || (name === "WAYPOST_API_KEY" && hasPlaceholder)) &&
    (isSameServer || !secretName.test(name));
  const kept = Object.entries(old["env"]).filter(([name]) => isKept(name));
  const env = { ...entry.env, ...Object.fromEntries(kept) };
  return kept.length === 0 ? entry : { ...entry, env };
}

function readBaseUrl(args: unknown): unknown {
  return Array.isArray(args) ? args[args.indexOf("--base-url") + 1 || args.length] : undefined;
}

function describeChange(path: string, client: McpClient, old: unknown, entry: unknown): string {
  const show = (each: unknown) => {
    const block = formats[client.format].edit("", client.key, hideSecrets(each));
    return showHidden(block.trimEnd());
  };
  if (old === undefined) return `This will be added to ${path}:\n${show(entry)}`;
  const [program] = isJsonObject(old) && Array.isArray(old["args"]) ? old["args"] : [];
  const before = /[\\/]waypost\.js$/.test(String(program))
    ? show(old)
    : "Not shown: it starts another program and may hold secrets.";
  return entry === undefined
    ? `The entry ${serverName} will be removed from ${path}:\n${before}`
    : `${path} has another entry named ${serverName}:\n${before}\n` +
        `It will be replaced by:\n${show(entry)}`;
}

/** Hides secrets, because a terminal may be recorded or visible to others. */
function hideSecrets(value: unknown, name: unknown = ""): unknown {
  if (Array.isArray(value)) return value.map((item, index) => hideSecrets(item, value[index - 1]));
  if (isJsonObject(value)) {
    const members = Object.entries(value);
    return Object.fromEntries(members.map(([key, member]) => [key, hideSecrets(member, key)]));
  }
  if (typeof value !== "string" || keyReference.test(value)) return value;
  return secretName.test(String(name)) ? hidden : value.replace(secretFlag, `$1=${hidden}`);
}

const hidden = "(hidden)";
const secretName = /(?:key|token|secret|password|authorization|database[-_]url)$/i;
const secretFlag = /^(--[\w-]*(?:key|token|secret|password|database-url))=.*$/is;
/** Matches a placeholder for the API key, or a reference to its variable. */
const keyReference = /^(?:<your key>|\$\{?(?:env:)?WAYPOST_API_KEY\}?)$/;

function explainEnvironment(
  { config, flags }: ConnectInvocation,
  { title }: McpClient,
  { env, env_vars }: ServerEntry,
  file: string,
): void {
  const isWorkspace = flags.workspace === true;
  const key = env?.["WAYPOST_API_KEY"];
  if (key === keyPlaceholder) {
    const more = isWorkspace
      ? `, and never commit that file: ${title} reads no variables there. To keep the key out of ` +
        "the file, set WAYPOST_API_KEY_FILE and run this command again."
      : ".";
    say(`Replace ${keyPlaceholder} in ${file} with your key${more}`);
  } else if (isWorkspace && (key ?? env_vars) !== undefined) {
    say(`The file has no key. Set WAYPOST_API_KEY in the environment that starts ${title}.`);
  }
  const leftOut = [...config.given.variables].filter((name) => !entryVariables.has(name));
  if (leftOut.length === 0) return;
  say(
    `${title} does not see these variables from this shell: ${leftOut.join(", ")}. Waypost uses ` +
      "its defaults there. To keep your settings, add the variables to the entry's env." +
      (isWorkspace ? " Never put a password or a token there." : ""),
  );
}

type ServerEntry = {
  readonly type?: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: JsonObject;
  /** The names of the variables that Codex passes on to Waypost from its own environment. */
  readonly env_vars?: readonly string[];
};

/** The user replaces this with the API key. No key from the environment is copied to a file. */
const keyPlaceholder = "<your key>";

/** Names the program by its full path, because a client has its own PATH and working folder. */
function createEntry(
  config: Config,
  program: string,
  { type, workspaceKey }: McpClient,
  isWorkspace: boolean,
): ServerEntry {
  const { given, base_url } = config;
  // An entry can contain only some flags. If another flag, such as --mode read-only, were ignored,
  // the client could do more than the user intended.
  const unsupported = settingList.find(
    ({ flag = "", variable }) => given.flags.has(flag) && !entryVariables.has(variable),
  );
  if (unsupported !== undefined) {
    const advice = `add ${unsupported.variable} to the entry's env in the client's file`;
    throw new UsageFault(`connect does not take --${unsupported.flag}; ${advice}`);
  }
  const isDataNamed = config.isDataNamed || given.variables.has(settings.data.variable);
  const data = isDataNamed ? ["--data", resolve(config.data)] : [];
  const base = base_url === undefined ? [] : ["--base-url", base_url];
  return {
    ...(type !== undefined && { type }),
    command: process.execPath,
    args: [program, ...data, ...base],
    ...chooseKey(config, isWorkspace ? workspaceKey : undefined),
  };
}

const entrySettings = [settings.data, settings.base_url, settings.api_key, settings.api_key_file];
const entryVariables: ReadonlySet<string> = new Set(entrySettings.map(({ variable }) => variable));

function chooseKey(
  { base_url, secrets }: Config,
  key: KeyMembers = { env: { WAYPOST_API_KEY: keyPlaceholder } },
): Pick<ServerEntry, "env" | "env_vars"> {
  const { api_key, api_key_file } = secrets;
  if (api_key_file !== undefined) {
    return { env: { WAYPOST_API_KEY_FILE: resolve(api_key_file) } };
  }
  return base_url !== undefined || api_key !== undefined ? key : {};
}
