import type * as z from "zod";
import {
  isFixedOrigin,
  nameSetting,
  settingList,
  settings,
  settingsSchema,
  type SecretName,
  type Setting,
} from "./config/settings.ts";
import { haveCommonHosts, isLinkOrigin, writeLocalOrigin } from "./contract/rules/link-address.ts";
import type { Mode } from "./contract/rights.ts";
import { isOpenHttp } from "./network/ip-address.ts";
import { findDataFolder } from "./start/find-data-folder.ts";

/** Turns environment variables and flags into a typed Config. */

type Settings = Readonly<z.output<typeof settingsSchema>>;
type Secrets = Pick<Settings, SecretName | "database_url">;

export type Config = Omit<Settings, keyof Secrets | "allow_http"> & {
  /**
   * Whether the data folder differs from the default. If so, suggested commands must name the
   * folder.
   */
  readonly isDataNamed: boolean;
  /** The value of the environment variable `TZ`, if set. */
  readonly machine_zone?: string | undefined;
  readonly secrets: Secrets;
  /** Which settings were given, by flag and by variable. */
  readonly given: {
    readonly flags: ReadonlySet<string>;
    readonly variables: ReadonlySet<string>;
  };
};

type TextValues = Readonly<Record<string, string | undefined>>;

/** A mistake by the user: the command prints one line and exits with code 2. */
export class UsageFault extends Error {
  override readonly name = "UsageFault";
}

/** The flags of all settings, for parsing the command line. */
export const settingFlags: Readonly<Record<string, { readonly type: "string" }>> =
  Object.fromEntries(
    settingList.flatMap(({ flag }) => (flag === undefined ? [] : [[flag, { type: "string" }]])),
  );

export function readConfig(environment: TextValues, flags: TextValues): Config {
  const given = { data: findDataFolder(environment), ...readSettings(environment, flags) };
  // Use `jitless`, because compiling a schema takes longer than using it once.
  const parsed = settingsSchema.safeParse(given, { jitless: true });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    // An issue's path starts with a setting, because the schema's keys are the settings.
    const setting = settings[issue?.path[0] as keyof typeof settings];
    throw new UsageFault(`${nameSetting(setting)} ${issue?.message}`);
  }
  const { allow_http, ...others } = parsed.data;
  const { secrets, rest } = splitSecrets(others);
  refuseLinkOrigin(rest);
  refuseSecondOrigin(rest.second_origin, rest.link_origin ?? writeLocalOrigin(), rest.base_url);
  refuseDatabase(secrets, rest.base_url);
  if (allow_http === undefined) refuseOpenKey(rest.base_url, secrets);
  refuseUnaskedPin(secrets, rest.mode);
  return {
    ...rest,
    machine_zone: environment["TZ"],
    isDataNamed: rest.data !== findDataFolder(environment),
    secrets,
    given: { flags: listSet(flags, ""), variables: listSet(environment, "WAYPOST_") },
  };
}

function splitSecrets(values: Omit<Settings, "allow_http">) {
  const entries = Object.entries(values);
  const secrets = entries.filter(([name]) => secretNames.has(name));
  const rest = entries.filter(([name]) => !secretNames.has(name));
  // `Object.fromEntries` loses the type of each setting.
  return {
    secrets: Object.fromEntries(secrets) as Secrets,
    rest: Object.fromEntries(rest) as Omit<Settings, keyof Secrets | "allow_http">,
  };
}

/** Includes the database URL, because it may contain a password. */
const secretNames: ReadonlySet<string> = new Set([
  "database_url",
  ...Object.entries<Setting>(settings).flatMap(([name, { secret }]) => (secret ? [name] : [])),
]);

type OriginSettings = Pick<Config, "link_origin" | "base_url" | "public_url" | "host">;

/**
 * Throws if the link origin is invalid. With `{subdomain}`, each project has its own host. Without
 * it, only one project is served.
 */
function refuseLinkOrigin({ link_origin, base_url, public_url, host }: OriginSettings): void {
  if (link_origin === undefined) return;
  const flag = nameSetting(settings.link_origin);
  const isFixed = isFixedOrigin(link_origin);
  if (base_url !== undefined) {
    if (isFixed) return;
    const wanted = "must be the origin of the project's links, such as https://go.example.com";
    throw new UsageFault(`${flag} ${wanted}`);
  }
  if (isLinkOrigin(link_origin)) return;
  if (!isFixed) {
    const wanted = "must be an origin, such as https://{subdomain}.links.example.com for several";
    throw new UsageFault(`${flag} ${wanted} projects or https://go.example.com for one`);
  }
  const { hostname } = new URL(link_origin);
  const own = [host, public_url === undefined ? "localhost" : new URL(public_url).hostname];
  if (!own.includes(hostname) && !["localhost", "127.0.0.1", "[::1]"].includes(hostname)) return;
  throw new UsageFault(
    `${flag} must not have the host name of the API and the console (--public-url); use another, ` +
      "such as https://go.example.com",
  );
}

/**
 * On a web page, phones open an app only for links to other hosts, so the two origins must differ.
 */
function refuseSecondOrigin(
  second: string | undefined,
  first: string,
  base_url: string | undefined,
): void {
  if (second === undefined) return;
  const flag = nameSetting(settings.second_origin);
  const refuse = (fault: string): never => {
    throw new UsageFault(`${flag} ${fault}`);
  };
  if (base_url !== undefined) refuse(`cannot be used with ${nameSetting(settings.base_url)}`);
  if (!isLinkOrigin(second)) refuse("must be an origin with {subdomain} in its host name");
  if (!haveCommonHosts(first, second)) return;
  refuse(
    `must not share host names with ${first}; use a name such as {subdomain}.open.example.com`,
  );
}

/**
 * Throws if a database and a remote server are set, because a remote server has its own database.
 */
function refuseDatabase(secrets: Secrets, base_url: string | undefined): void {
  const given = secrets.database_url ?? secrets.database_url_file;
  if (base_url === undefined || given === undefined) return;
  const [database, base] = [settings.database_url, settings.base_url].map(nameSetting);
  throw new UsageFault(`${database} cannot be used with ${base}`);
}

/** Plain HTTP reveals the key to everyone on the network. */
function refuseOpenKey(base_url: string | undefined, { api_key, api_key_file }: Secrets): void {
  const hasKey = api_key !== undefined || api_key_file !== undefined;
  if (base_url === undefined || !hasKey || !isOpenHttp(base_url)) return;
  throw new UsageFault(
    `${nameSetting(settings.base_url)} is plain http to another machine, which would send the ` +
      "API key unencrypted; use https, or set WAYPOST_ALLOW_HTTP=1 if the network is safe",
  );
}

/** An operator who sets a PIN expects users to be asked for it, but full mode never asks. */
function refuseUnaskedPin({ approval_pin_file }: Secrets, mode: Mode): void {
  if (approval_pin_file === undefined || mode !== "full") return;
  throw new UsageFault(
    `WAYPOST_APPROVAL_PIN_FILE is set, but --mode ${mode} shows no page that asks for the PIN; ` +
      "use --mode guarded, or unset the PIN",
  );
}

function readSettings(environment: TextValues, flags: TextValues): TextValues {
  const entries: readonly (readonly [string, Setting])[] = Object.entries(settings);
  const values = entries.map(([name, { variable, flag, default: usual }]) => {
    const given = (flag && flags[flag]) ?? environment[variable];
    return [name, isSet(given) ? given : usual] as const;
  });
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

function listSet(values: TextValues, start: string): ReadonlySet<string> {
  const names = Object.keys(values).filter((name) => name.startsWith(start));
  return new Set(names.filter((name) => isSet(values[name])));
}

/** An empty variable counts as unset. */
function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}
