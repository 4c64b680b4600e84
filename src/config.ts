import { isFixedOrigin, settingsSchema, type logLevels } from "./config/settings-schema.ts";
import type { Destinations } from "./contract/rules/destinations.ts";
import { haveCommonHosts, isLinkOrigin, writeLocalOrigin } from "./contract/rules/link-address.ts";
import type { Scope } from "./contract/scopes-and-roles.ts";
import type { Mode } from "./mcp/approval/mode.ts";
import { isOpenHttp, type Network } from "./network/ip-address.ts";
import type { TrustedProxies } from "./network/trusted-proxies.ts";
import { findDataFolder } from "./start/find-data-folder.ts";

/** Environment and flags → a typed Config. Pure: `main.ts` hands both in. */

export type Config = {
  /** The data folder. */
  readonly data: string;
  /** Whether it differs from the default: then commands shown to the user have to name it. */
  readonly isDataNamed: boolean;
  /** Whether a flag named the database. */
  readonly isDatabaseNamed: boolean;
  readonly host: string;
  readonly port: number;
  /** Undefined where nobody is believed what they say of their clients' addresses. */
  readonly trusted_proxies: TrustedProxies | undefined;
  /** The private networks that webhooks may lead to. */
  readonly webhook_private: readonly Network[];
  /** Undefined where it follows from the port that is really taken. */
  readonly link_origin: string | undefined;
  /** Serves the same links, so that a page's button can lead out of the first one. */
  readonly second_origin: string | undefined;
  readonly public_url: string | undefined;
  /** The origin of the deployment that is driven; undefined where we are it ourselves. */
  readonly base_url: string | undefined;
  readonly mode: Mode;
  /** What the operator says that the key may do; undefined is found out. */
  readonly scopes: readonly Scope[] | undefined;
  /** What is tried to find that out. */
  readonly probe: "on" | "off";
  /** Groups and names of tools, as they were written; nothing is all of them. */
  readonly tools: readonly string[];
  /** The hosts that an assistant's links may lead to; undefined is any. */
  readonly destinations: Destinations | undefined;
  /** Whether a process that speaks over stdio serves the links, where no other does. */
  readonly serve: boolean;
  /** In which times are told and read; undefined is the machine's. */
  readonly time_zone?: string | undefined;
  /** What the environment says of the machine's; undefined says nothing. */
  readonly machine_zone?: string | undefined;
  /** The header, in small letters, in which a proxy tells a visitor's country. */
  readonly country_header?: string | undefined;
  /** A file that tells the country of an address, in MaxMind's format. */
  readonly geoip_file?: string | undefined;
  /** Whether a person has pages for all of it, at the main address. */
  readonly console: boolean;
  readonly secrets: Secrets & {
    /** May have a password in it. Undefined keeps everything in the data folder. */
    readonly database_url: string | undefined;
  };
  readonly log: (typeof logLevels)[number];
  /** Which of all that can be set was set, and where. */
  readonly given: {
    readonly flags: ReadonlySet<string>;
    readonly variables: ReadonlySet<string>;
  };
};

type Secrets = ReturnType<typeof readSecrets>;
type Values = Readonly<Record<string, string | undefined>>;

/** The caller's fault: one line that says what is wrong, and exit code 2. */
export class UsageFault extends Error {
  override readonly name = "UsageFault";
}

/** Each setting's variable and flag (design.md, "Configuration"); a flag wins. */
export const settings = {
  data: { variable: "WAYPOST_DATA", flag: "data" },
  database_url: { variable: "WAYPOST_DATABASE_URL", flag: "database-url" },
  host: { variable: "WAYPOST_HOST", flag: "host" },
  port: { variable: "WAYPOST_PORT", flag: "port" },
  trusted_proxies: { variable: "WAYPOST_TRUSTED_PROXIES", flag: "trusted-proxies" },
  webhook_private: { variable: "WAYPOST_WEBHOOK_PRIVATE", flag: "webhook-private" },
  link_origin: { variable: "WAYPOST_LINK_ORIGIN", flag: "link-origin" },
  second_origin: { variable: "WAYPOST_SECOND_ORIGIN", flag: "second-origin" },
  public_url: { variable: "WAYPOST_PUBLIC_URL", flag: "public-url" },
  base_url: { variable: "WAYPOST_BASE_URL", flag: "base-url" },
  mode: { variable: "WAYPOST_MODE", flag: "mode" },
  scopes: { variable: "WAYPOST_SCOPES", flag: "scopes" },
  probe: { variable: "WAYPOST_PROBE", flag: "probe" },
  tools: { variable: "WAYPOST_TOOLS", flag: "tools" },
  destinations: { variable: "WAYPOST_DESTINATIONS", flag: "destinations" },
  geoip_file: { variable: "WAYPOST_GEOIP_FILE", flag: "geoip-file" },
  time_zone: { variable: "WAYPOST_TIME_ZONE", flag: "time-zone" },
  log: { variable: "WAYPOST_LOG", flag: "log" },
} as const;

/** Every setting's flag, for parsing the command line. */
export const settingFlags: Readonly<Record<string, { readonly type: "string" }>> =
  Object.fromEntries(Object.values(settings).map(({ flag }) => [flag, { type: "string" }]));

export function readConfig(environment: Values, flags: Values): Config {
  const given = {
    data: findDataFolder(environment),
    host: "127.0.0.1",
    port: "8787",
    log: "info",
    mode: "guarded",
    probe: "on",
    tools: "",
    webhook_private: "",
    ...readSettings(environment, flags),
  };
  // To compile a schema for one use costs more than the use.
  const parsed = settingsSchema.safeParse(given, { jitless: true });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    // The first key of every issue is a setting: the schema's keys are the settings'.
    const setting = settings[issue?.path[0] as keyof typeof settings];
    throw new UsageFault(`--${setting.flag} (${setting.variable}) ${issue?.message}`);
  }
  const { public_url, base_url, scopes: declared, trusted_proxies, ...others } = parsed.data;
  const { database_url, ...rest } = others;
  const { link_origin, second_origin, destinations } = rest;
  refuseLinkOrigin({ link_origin, base_url, public_url, host: rest.host });
  refuseSecondOrigin(second_origin, link_origin ?? writeLocalOrigin(), base_url);
  const secrets = { ...readSecrets(environment), database_url };
  refuseDatabase(secrets, base_url);
  refuseOpenKey(base_url, secrets, environment["WAYPOST_ALLOW_HTTP"]);
  refuseUnaskedPin(secrets, rest.mode);
  const optional = { trusted_proxies: trusted_proxies ?? undefined, public_url, base_url };
  const settled = { ...rest, ...optional, link_origin, second_origin, destinations };
  const serve = readSwitch("WAYPOST_SERVE", environment);
  const console = readSwitch("WAYPOST_CONSOLE", environment);
  const country_header = readHeaderName("WAYPOST_COUNTRY_HEADER", environment);
  const machine_zone = environment["TZ"];
  const also = {
    serve,
    country_header,
    console,
    machine_zone,
    isDataNamed: rest.data !== findDataFolder(environment),
    isDatabaseNamed: isSet(flags["database-url"]),
    given: { flags: listSet(flags, ""), variables: listSet(environment, "WAYPOST_") },
  };
  return { ...settled, scopes: declared, ...also, secrets };
}

type OriginSettings = Pick<Config, "link_origin" | "base_url" | "public_url" | "host">;

/** With `{subdomain}`, each project has a host of its own. Without it, there is one project. */
function refuseLinkOrigin({ link_origin, base_url, public_url, host }: OriginSettings): void {
  if (link_origin === undefined) return;
  const flag = "--link-origin (WAYPOST_LINK_ORIGIN)";
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

/** A phone opens an app only by a link to another host, so the two origins must differ. */
function refuseSecondOrigin(
  second: string | undefined,
  first: string,
  base_url: string | undefined,
): void {
  if (second === undefined) return;
  const flag = "--second-origin (WAYPOST_SECOND_ORIGIN)";
  const refuse = (fault: string): never => {
    throw new UsageFault(`${flag} ${fault}`);
  };
  if (base_url !== undefined) refuse("cannot be used with --base-url (WAYPOST_BASE_URL)");
  if (!isLinkOrigin(second)) refuse("must be an origin with {subdomain} in its host name");
  if (!haveCommonHosts(first, second)) return;
  refuse(
    `must not share host names with ${first}; use a name such as {subdomain}.open.example.com`,
  );
}

/** It has the links of our own store. */
function refuseDatabase(secrets: Config["secrets"], base_url: string | undefined): void {
  const given = secrets.database_url ?? secrets.database_url_file;
  if (base_url === undefined || given === undefined) return;
  throw new UsageFault(
    "--database-url (WAYPOST_DATABASE_URL) cannot be used with --base-url (WAYPOST_BASE_URL)",
  );
}

/** Whoever carries plain http on its way reads the key in it. */
function refuseOpenKey(
  base_url: string | undefined,
  { api_key, api_key_file }: Secrets,
  allowed: string | undefined,
): void {
  if (isSet(allowed) && allowed !== "1") {
    throw new UsageFault("WAYPOST_ALLOW_HTTP must be 1 or unset");
  }
  const hasKey = api_key !== undefined || api_key_file !== undefined;
  if (base_url === undefined || !hasKey || !isOpenHttp(base_url) || allowed === "1") return;
  throw new UsageFault(
    "--base-url (WAYPOST_BASE_URL) is plain http to another machine, which would send the API " +
      "key unencrypted; use https, or set WAYPOST_ALLOW_HTTP=1 if the network is safe",
  );
}

function readSwitch(variable: string, environment: Values): boolean {
  const value = environment[variable] || "on";
  if (value === "on" || value === "off") return value === "on";
  throw new UsageFault(`${variable} must be on or off`);
}

function readHeaderName(variable: string, environment: Values): string | undefined {
  const name = environment[variable]?.trim().toLowerCase() ?? "";
  if (name === "") return undefined;
  if (/^[a-z][a-z\d-]*$/.test(name)) return name;
  throw new UsageFault(`${variable} must be the name of a header, such as CF-IPCountry`);
}

/** An operator who sets a PIN counts on being asked for it. */
function refuseUnaskedPin({ approval_pin_file }: Secrets, mode: Mode): void {
  if (approval_pin_file === undefined || mode !== "full") return;
  throw new UsageFault(
    `WAYPOST_APPROVAL_PIN_FILE is set, but --mode ${mode} shows no page that asks for the PIN; ` +
      "use --mode guarded, or unset the PIN",
  );
}

/** They have no flag, for a flag would show them to every other process. */
function readSecrets(environment: Values) {
  // What is empty is unset.
  const read = (variable: string) => environment[variable]?.trim() || undefined;
  return {
    database_url_file: read("WAYPOST_DATABASE_URL_FILE"),
    api_key: read("WAYPOST_API_KEY"),
    api_key_file: read("WAYPOST_API_KEY_FILE"),
    http_token: read("WAYPOST_HTTP_TOKEN"),
    http_token_file: read("WAYPOST_HTTP_TOKEN_FILE"),
    approval_pin_file: read("WAYPOST_APPROVAL_PIN_FILE"),
    metrics_token: read("WAYPOST_METRICS_TOKEN"),
    metrics_token_file: read("WAYPOST_METRICS_TOKEN_FILE"),
  };
}

function readSettings(environment: Values, flags: Values): Values {
  const entries = Object.entries(settings).map(([name, { variable, flag }]) => {
    return [name, flags[flag] ?? environment[variable]] as const;
  });
  return Object.fromEntries(entries.filter(([, value]) => isSet(value)));
}

function listSet(values: Values, start: string): ReadonlySet<string> {
  const names = Object.keys(values).filter((name) => name.startsWith(start));
  return new Set(names.filter((name) => isSet(values[name])));
}

/** An empty variable is an unset one, as in every shell script. */
function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}
