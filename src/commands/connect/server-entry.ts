import { resolve } from "node:path";
import { UsageFault, type Config } from "../../config.ts";
import { settingList, settings, type Setting } from "../../config/settings.ts";
import type { McpClient, KeyMembers } from "./clients.ts";

/** The entry named `waypost` in the configuration of a client, which starts Waypost. */
export type ServerEntry = {
  readonly type?: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The variables that Codex passes on from its own environment. */
  readonly env_vars?: readonly string[];
};

/** The user writes the key here; it is never read from the environment into another file. */
export const keyPlaceholder = "<your key>";

/** The program must be started by its full path: a client has its own PATH and folder. */
export function createEntry(
  config: Config,
  program: string,
  { type, workspaceKey }: McpClient,
  isWorkspace: boolean,
): ServerEntry {
  refuseOtherFlags(config);
  const { given, base_url } = config;
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

const entrySettings: readonly Setting[] = [
  settings.data,
  settings.base_url,
  settings.api_key,
  settings.api_key_file,
];

/** Variables that are already part of the entry. */
export const entryVariables: ReadonlySet<string> = new Set(
  entrySettings.map(({ variable }) => variable),
);

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

/** Without a flag such as --mode read-only, the client would start a different server. */
function refuseOtherFlags({ given }: Config): void {
  const stray = settingList.find(
    (setting) => given.flags.has(setting.flag ?? "") && !entrySettings.includes(setting),
  );
  if (stray === undefined) return;
  throw new UsageFault(
    `connect does not take --${stray.flag}; add ${stray.variable} to the entry's env in the ` +
      "client's file",
  );
}
