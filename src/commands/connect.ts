import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, resolve, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { UsageFault } from "../config.ts";
import { quote, showHidden } from "../text/show-hidden.ts";
import {
  readClientFile,
  replaceClientFile,
  requireWritable,
  type ClientFile,
} from "./connect/client-file.ts";
import { clients, findUserFile, type McpClient } from "./connect/clients.ts";
import { serverName, type FileFormat } from "./connect/file-format.ts";
import { jsonFormat } from "./connect/json-format.ts";
import {
  createEntry,
  entryVariables,
  keyPlaceholder,
  type ServerEntry,
} from "./connect/server-entry.ts";
import { tomlFormat } from "./connect/toml-format.ts";
import { confirmUntilStopped } from "./terminal/ask-to-go-on.ts";
import type { Command, Host, Invocation } from "./terminal/command.ts";
import { yesHelp } from "./terminal/shared-flags.ts";
import { print, say } from "./terminal/output.ts";

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

/** False if the person rejected the change. */
async function run(invocation: ConnectInvocation, name: string): Promise<boolean | void> {
  const { config, flags, host } = invocation;
  const client = chooseClient(name);
  if (flags.write === true && flags.remove === true) {
    throw new UsageFault("connect takes --write or --remove, not both");
  }
  const isWorkspace = flags.workspace === true;
  const named = findFile(client, host.env, isWorkspace);
  const entry = createEntry(config, await realpath(host.program), client, isWorkspace);
  if (flags.remove === true) return edit(invocation, client, named);
  if (flags.write === true) return edit(invocation, client, named, entry);
  print(formats[client.format].edit("", client.key, entry).trimEnd());
  say(`Add this to ${named}, or run the command again with --write.`);
  sayRest(invocation, client, entry, named);
}

const formats: Readonly<Record<McpClient["format"], FileFormat>> = {
  json: jsonFormat,
  toml: tomlFormat,
};

function chooseClient(name: string): McpClient {
  const known: Readonly<Record<string, McpClient>> = clients;
  const client = Object.hasOwn(known, name) ? known[name] : undefined;
  if (client !== undefined) return client;
  throw new UsageFault(`use connect with ${connectFlags.CLIENT} (see waypost --help)`);
}

function findFile(client: McpClient, env: Host["env"], isWorkspace: boolean): string {
  if (isWorkspace) {
    if (client.workspaceFile !== undefined) return resolve(client.workspaceFile);
    throw new UsageFault(`${client.title} has no per-project settings file; omit --workspace`);
  }
  const { platform } = process;
  const home = (platform === "win32" ? env["USERPROFILE"] : env["HOME"]) || homedir();
  return findUserFile(client, { platform, home, env });
}

/** Writes the entry, or removes the existing one if none is given. */
async function edit(
  invocation: ConnectInvocation,
  client: McpClient,
  named: string,
  entry?: ServerEntry,
): Promise<boolean> {
  const { flags, host } = invocation;
  const isWorkspace = flags.workspace === true;
  const file = await readClientFile(named);
  if (isWorkspace) await requireInside(file.path);
  const path = showHidden(file.path);
  const root = readRoot(file, client);
  const { [serverName]: old, ...others } = readServers(root, file, client);
  // Another person may have written a project's file.
  const wanted = entry && !isWorkspace ? keepEnv(entry, old) : entry;
  if (isDeepStrictEqual(old, wanted)) {
    print(`${path} ${wanted === undefined ? "has no entry" : "already has this entry"}.`);
    return true;
  }
  await requireWritable(file);
  const format = formats[client.format];
  const changed = format.edit(file.text, client.key, wanted);
  const servers = { ...others, ...(wanted && { [serverName]: wanted }) };
  const parsed = format.parse(changed);
  const expected = dropEmpty({ ...root, [client.key]: servers }, client);
  if (!("value" in parsed) || !isDeepStrictEqual(dropEmpty(parsed.value, client), expected)) {
    throw new UsageFault(
      `connect cannot edit the servers in ${quote(file.path, 200)}; nothing was changed. ` +
        "Edit the file yourself: waypost connect prints the entry",
    );
  }
  say(describeChange(path, client, old, wanted));
  if (flags.yes !== true && !(await confirmUntilStopped(host))) {
    say("Nothing was changed.");
    return false;
  }
  const backup = await replaceClientFile(file, changed);
  print(`${wanted === undefined ? "Removed" : "Wrote"} the entry ${serverName} in ${path}.`);
  if (backup !== undefined) say(`The old file is saved as ${backup}.`);
  if (wanted !== undefined) sayRest(invocation, client, wanted, path);
  say(`Restart ${client.title} for the change to take effect.`);
  return true;
}

/** Refuses a path outside of the project: a symbolic link could point to any file of the user. */
async function requireInside(path: string): Promise<void> {
  const folder = await realpath(process.cwd());
  const place = await realpath(findExisting(path));
  if (place === folder || place.startsWith(`${folder}${sep}`)) return;
  throw new UsageFault(
    `a symbolic link puts ${quote(path, 200)} outside this folder; nothing was changed`,
  );
}

/** The file, or the nearest folder above it that exists. */
function findExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : findExisting(dirname(path));
}

type JsonMembers = Readonly<Record<string, unknown>>;

function readRoot({ path, text }: ClientFile, client: McpClient): JsonMembers {
  const format = formats[client.format];
  const parsed = format.parse(text);
  if ("value" in parsed) return requireObject(parsed.value, quote(path, 200));
  const fault = `${quote(path, 200)} is not valid ${format.name} at line ${parsed.brokenLine}`;
  throw new UsageFault(`${fault}; nothing was changed. Fix it first`);
}

function readServers(root: JsonMembers, { path }: ClientFile, { key }: McpClient): JsonMembers {
  const { [key]: servers = {} } = root;
  return requireObject(servers, `${key} in ${quote(path, 200)}`);
}

function requireObject(value: unknown, name: string): JsonMembers {
  if (isObject(value)) return value;
  throw new UsageFault(`${name} must be an object; nothing was changed`);
}

/** A file without servers means the same with and without the empty object for them. */
function dropEmpty(root: unknown, { key }: McpClient): unknown {
  if (!isObject(root) || !isDeepStrictEqual(root[key], {})) return root;
  const { [key]: _, ...rest } = root;
  return rest;
}

function isObject(value: unknown): value is JsonMembers {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Keeps what the user has added to the old entry: the key in place of the placeholder, and other
 * settings. Secrets stay only for the same server, because another server must not get them.
 */
function keepEnv(entry: ServerEntry, old: unknown): ServerEntry {
  if (!isObject(old) || !isObject(old["env"])) return entry;
  const isSameServer = isDeepStrictEqual(readBaseUrl(old["args"]), readBaseUrl(entry.args));
  const hasPlaceholder = entry.env?.["WAYPOST_API_KEY"] !== undefined;
  const isKept = (name: string) =>
    name.startsWith("WAYPOST_") &&
    (!entryVariables.has(name) || (name === "WAYPOST_API_KEY" && hasPlaceholder)) &&
    (isSameServer || !secretName.test(name));
  const kept = Object.entries(old["env"]).flatMap(([name, value]) =>
    typeof value === "string" && isKept(name) ? [[name, value] as const] : [],
  );
  return kept.length === 0
    ? entry
    : { ...entry, env: { ...entry.env, ...Object.fromEntries(kept) } };
}

function readBaseUrl(args: unknown): unknown {
  return Array.isArray(args) ? args[args.indexOf("--base-url") + 1 || args.length] : undefined;
}

function describeChange(path: string, client: McpClient, old: unknown, wanted: unknown): string {
  const show = (entry: unknown) => {
    const block = formats[client.format].edit("", client.key, hideSecrets(entry));
    return showHidden(block.trimEnd());
  };
  if (old === undefined) return `This will be added to ${path}:\n${show(wanted)}`;
  const before = startsWaypost(old)
    ? show(old)
    : "Not shown: it starts another program and may hold secrets.";
  if (wanted === undefined) {
    return `The entry ${serverName} will be removed from ${path}:\n${before}`;
  }
  return (
    `${path} has another entry named ${serverName}:\n${before}\n` +
    `It will be replaced by:\n${show(wanted)}`
  );
}

function startsWaypost(entry: unknown): boolean {
  const args = isObject(entry) ? entry["args"] : undefined;
  const [program] = Array.isArray(args) ? args : [];
  return typeof program === "string" && /[\\/]waypost\.js$/.test(program);
}

/** A terminal may be recorded, or seen by others. */
function hideSecrets(value: unknown, name = ""): unknown {
  if (typeof value === "string" && !isKeyStandIn(value)) {
    return secretName.test(name) ? hidden : value.replace(secretFlag, `$1=${hidden}`);
  }
  if (Array.isArray(value)) {
    return value.map((item, index) => hideSecrets(item, readFlag(value[index - 1])));
  }
  if (!isObject(value)) return value;
  const members = Object.entries(value);
  return Object.fromEntries(members.map(([key, member]) => [key, hideSecrets(member, key)]));
}

const hidden = "(hidden)";
const secretName = /(?:key|token|secret|password|authorization|database[-_]url)$/i;
const secretFlag = /^(--[\w-]*(?:key|token|secret|password|database-url))=.*$/is;

function readFlag(word: unknown): string {
  return typeof word === "string" && word.startsWith("--") ? word : "";
}

/** The placeholder for the key, or a reference to its variable. */
function isKeyStandIn(value: string): boolean {
  return value === keyPlaceholder || /^\$\{?(?:env:)?WAYPOST_API_KEY\}?$/.test(value);
}

/** Says what the user still has to do about the key and other variables of this shell. */
function sayRest(
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
