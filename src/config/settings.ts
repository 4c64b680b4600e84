import * as z from "zod";
import { groups } from "../contract/resource-kind.ts";
import { readDestinations } from "../contract/rules/destinations.ts";
import { isOrigin } from "../contract/rules/link-address.ts";
import { hasLogin } from "../contract/rules/web-address.ts";
import { scopes } from "../contract/rights.ts";
import { modes } from "../contract/rights.ts";
import { databaseUrlRule, isAddress, isDatabaseUrl } from "../network/database-url.ts";
import { readNetworks } from "../network/ip-address.ts";
import { readTrustedProxies } from "../network/client-address.ts";
import { explainTimeZone, isTimeZone } from "../text/time-zone.ts";

/**
 * Every setting, defined once. Parsing, the help text, the console's Settings page and
 * docs/reference/settings.md use this table.
 */

export const settingGroups = [
  "Data",
  "Addresses",
  "Remote server",
  "Assistants and approval",
  "Visitors and time",
  "Operation",
] as const;

export type Setting = {
  readonly title: string;
  readonly group: (typeof settingGroups)[number];
  readonly variable: `WAYPOST_${string}`;
  /** Omitted for secrets, because other users of the machine can see a command's flags. */
  readonly flag?: string;
  /** The placeholder for a value, such as `URL`. */
  readonly value: string;
  readonly default?: string;
  /** What happens if the setting is unset and has no default value. */
  readonly unset?: string;
  /** Whether the console hides the value, and shows only whether it is set. */
  readonly secret?: true;
  /** The help text, in full sentences. The CLI shows it without backticks. */
  readonly help: string;
  /** More sentences for the reference page, in Markdown. */
  readonly docs?: string;
  /** Its error messages complete a sentence that starts with the setting's name. */
  readonly schema: z.ZodType;
};

const logLevels = ["silent", "error", "warn", "info", "debug"] as const;

const list = z.string().transform((text) => {
  return text.split(",").flatMap((word) => (word.trim() === "" ? [] : [word.trim()]));
});

const hosts = z.string().transform((text, context) => {
  const read = readDestinations(text);
  if ("destinations" in read) return read.destinations;
  context.addIssue({ code: "custom", message: read.fault });
  return z.NEVER;
});

const networks = readAs(
  (text) => (text === "" ? [] : readNetworks(text)),
  "must be networks, such as 10.0.0.0/8,loopback",
);

function readAs<Value>(read: (text: string) => Value | undefined, message: string) {
  return z.string().transform((text, context) => {
    const value = read(text);
    if (value !== undefined) return value;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  });
}

/** Rejects a URL with a user name or password, because messages and pages show the whole URL. */
const plainText = z.string().refine((text) => !hasLogin(text), {
  error: "must not contain a user name or password",
  abort: true,
});

const origin = plainText.transform((text) => text.replace(/\/$/, ""));

const onOrOff = z.enum(["on", "off"], "must be on or off");

const header = z
  .string()
  .transform((text) => text.trim().toLowerCase() || undefined)
  .refine(
    (name) => name === undefined || /^[a-z][a-z\d-]*$/.test(name),
    "must be the name of a header, such as CF-IPCountry",
  );

const secretText = z
  .string()
  .transform((text) => text.trim() || undefined)
  .optional();

/** Excludes the paths of other parts of Waypost. */
const consolePath = /^(?!\/(?:api|approve|mcp|preview|sign-in)(?:\/|$))(?:\/[\w~-][\w.~-]*)*\/?$/;

const consolePathRule =
  "must be / or a path such as /waypost, of letters, digits and ~ . _ -, and must not begin with " +
  "/api, /approve, /mcp, /preview, /sign-in";

const portFault = "must be a whole number from 0 to 65535";

export const settings = {
  data: {
    title: "Data folder",
    group: "Data",
    variable: "WAYPOST_DATA",
    flag: "data",
    value: "DIR",
    unset: "~/.local/share/waypost",
    help: "The data folder.",
    docs: "If `XDG_DATA_HOME` is set, the default is the `waypost` folder in it.",
    schema: z
      .string()
      .refine(
        (text) => !isAddress(text),
        "must be a folder, not an address; set WAYPOST_DATABASE_URL to use a database",
      ),
  },
  database_url: {
    title: "Database",
    group: "Data",
    variable: "WAYPOST_DATABASE_URL",
    flag: "database-url",
    value: "URL",
    unset: "SQLite files in the data folder",
    help: "The PostgreSQL database for the data: `postgres://user:password@host:5432/database`.",
    docs: "See [PostgreSQL](../postgresql.md).",
    schema: z.string().refine(isDatabaseUrl, databaseUrlRule).optional(),
  },
  database_url_file: {
    title: "Database, from a file",
    group: "Data",
    variable: "WAYPOST_DATABASE_URL_FILE",
    value: "FILE",
    secret: true,
    help: "A file with the database's address. It keeps the password out of the environment.",
    schema: secretText,
  },
  host: {
    title: "Host",
    group: "Addresses",
    variable: "WAYPOST_HOST",
    flag: "host",
    value: "HOST",
    default: "127.0.0.1",
    help: "The address to listen on.",
    schema: z.string().regex(/^[\w.:-]+$/, "must be a host name or an IP address"),
  },
  port: {
    title: "Port",
    group: "Addresses",
    variable: "WAYPOST_PORT",
    flag: "port",
    value: "PORT",
    default: "8787",
    help: "The port to listen on. `0` picks a free one.",
    schema: z
      .string()
      .regex(/^\d{1,5}$/, portFault)
      .transform(Number)
      .refine((number) => number <= 65_535, portFault),
  },
  public_url: {
    title: "Public address",
    group: "Addresses",
    variable: "WAYPOST_PUBLIC_URL",
    flag: "public-url",
    value: "URL",
    unset: "from host and port",
    help: "The address at which others reach the API, MCP, the console and approval pages.",
    schema: z
      .url({ protocol: /^https?$/, error: "must be an http or https address" })
      .refine(isPlainAddress, "must not contain a user name, password, query or fragment")
      .transform((url) => url.replace(/\/+$/, ""))
      .optional(),
  },
  link_origin: {
    title: "Link addresses",
    group: "Addresses",
    variable: "WAYPOST_LINK_ORIGIN",
    flag: "link-origin",
    value: "URL",
    unset: "http://{subdomain}.localhost:PORT",
    help: "The origin of all links. Without `{subdomain}`, only one project's links open.",
    docs: "See [Deploy](../deploy.md#one-domain).",
    schema: origin.optional(),
  },
  second_origin: {
    title: "Second address",
    group: "Addresses",
    variable: "WAYPOST_SECOND_ORIGIN",
    flag: "second-origin",
    value: "URL",
    unset: "none",
    help: "A second origin for the same links. The preview page's button uses it to open the app.",
    docs: "It must contain `{subdomain}`. See [App setup](../app-setup.md).",
    schema: origin.optional(),
  },
  trusted_proxies: {
    title: "Trusted proxies",
    group: "Addresses",
    variable: "WAYPOST_TRUSTED_PROXIES",
    flag: "trusted-proxies",
    value: "A,B",
    unset: "none",
    help:
      "The proxies whose `X-Forwarded-For` header is trusted: their networks, such as " +
      "`10.0.0.0/8,loopback`, or the number of proxies.",
    docs: "See [Deploy](../deploy.md).",
    schema: readAs(
      readTrustedProxies,
      "must be networks, such as 10.0.0.0/8,loopback, or the number of proxies, such as 1",
    ).optional(),
  },
  webhook_private: {
    title: "Webhooks in private networks",
    group: "Addresses",
    variable: "WAYPOST_WEBHOOK_PRIVATE",
    flag: "webhook-private",
    value: "A,B",
    default: "",
    unset: "none",
    help:
      "Private networks that webhooks may reach, such as `10.0.0.0/8,loopback`, as well as the " +
      "public internet.",
    docs: "See [Webhooks](../webhooks.md).",
    schema: networks,
  },
  serve: {
    title: "Links over stdio",
    group: "Addresses",
    variable: "WAYPOST_SERVE",
    value: "on|off",
    default: "on",
    help: "Whether links also open while only an assistant's client runs Waypost.",
    schema: onOrOff.transform((value) => value === "on"),
  },
  console: {
    title: "Console",
    group: "Addresses",
    variable: "WAYPOST_CONSOLE",
    value: "on|off",
    default: "on",
    help: "Whether `serve` includes the web console.",
    docs: "See [Console](../console.md).",
    schema: onOrOff.transform((value) => value === "on"),
  },
  console_path: {
    title: "Console path",
    group: "Addresses",
    variable: "WAYPOST_CONSOLE_PATH",
    value: "PATH",
    unset: "random on this machine, none at a public address",
    help: "The path of the console, such as `/waypost`, for a proxy that serves it below a path.",
    docs: "See [Console](../console.md#address).",
    schema: z
      .string()
      .regex(consolePath, consolePathRule)
      .transform((path) => path.replace(/\/$/, ""))
      .optional(),
  },
  base_url: {
    title: "Remote server",
    group: "Remote server",
    variable: "WAYPOST_BASE_URL",
    flag: "base-url",
    value: "URL",
    unset: "none",
    help:
      "The origin of a remote server, such as `https://links.example.com`. Without it, Waypost " +
      "is the server itself.",
    docs: "See [Remote servers](../remote-servers.md).",
    schema: plainText
      .transform((url) => url.replace(/\/+$/, "").replace(/\/api\/v1$/, ""))
      .refine(isFixedOrigin, "must be an http or https origin, without a path")
      .optional(),
  },
  api_key: {
    title: "API key",
    group: "Remote server",
    variable: "WAYPOST_API_KEY",
    value: "KEY",
    secret: true,
    help: "The API key. Without a remote server, the owner's key is the default.",
    docs: "That key is in `owner.key` in the data folder.",
    schema: secretText,
  },
  api_key_file: {
    title: "API key, from a file",
    group: "Remote server",
    variable: "WAYPOST_API_KEY_FILE",
    value: "FILE",
    secret: true,
    help: "A file with the API key.",
    schema: secretText,
  },
  allow_http: {
    title: "API key over plain HTTP",
    group: "Remote server",
    variable: "WAYPOST_ALLOW_HTTP",
    value: "1",
    unset: "only to this machine",
    help: "`1` allows sending the key to another machine over plain http.",
    schema: z.literal("1", "must be 1 or unset").optional(),
  },
  scopes: {
    title: "Scopes",
    group: "Remote server",
    variable: "WAYPOST_SCOPES",
    flag: "scopes",
    value: "A,B",
    unset: "detected",
    help: "The key's scopes, if you know them.",
    docs: "[Access](access.md) lists them.",
    schema: list.pipe(z.array(z.enum(scopes, `may only contain ${scopes.join(", ")}`))).optional(),
  },
  probe: {
    title: "Probing",
    group: "Remote server",
    variable: "WAYPOST_PROBE",
    flag: "probe",
    value: "on|off",
    default: "on",
    help: "Whether Waypost detects what the key may do, using requests that change nothing.",
    schema: onOrOff,
  },
  http_token: {
    title: "Gateway token",
    group: "Remote server",
    variable: "WAYPOST_HTTP_TOKEN",
    value: "TOKEN",
    secret: true,
    help: "The token that clients send to `/mcp` when `serve` uses a remote server.",
    docs: "The first start creates one, in `http.token` in the data folder.",
    schema: secretText,
  },
  http_token_file: {
    title: "Gateway token, from a file",
    group: "Remote server",
    variable: "WAYPOST_HTTP_TOKEN_FILE",
    value: "FILE",
    secret: true,
    help: "A file with the gateway token.",
    schema: secretText,
  },
  mode: {
    title: "Mode",
    group: "Assistants and approval",
    variable: "WAYPOST_MODE",
    flag: "mode",
    value: "MODE",
    default: "guarded",
    help: "`read-only`, `guarded` (a person approves risky changes) or `full` (no approvals).",
    docs: "See [Approval](../approval.md).",
    schema: z.enum(modes, `must be one of ${modes.join(", ")}`),
  },
  tools: {
    title: "Tools",
    group: "Assistants and approval",
    variable: "WAYPOST_TOOLS",
    flag: "tools",
    value: "A,B,-C",
    default: "",
    unset: "all",
    help: `The tools and groups of tools to offer (${listGroups()}). \`-C\` leaves out C.`,
    docs: "See [Tools](tools.md).",
    schema: list,
  },
  destinations: {
    title: "Destinations",
    group: "Assistants and approval",
    variable: "WAYPOST_DESTINATIONS",
    flag: "destinations",
    value: "A,*.B",
    unset: "any host",
    help: "The hosts that assistants may redirect links to. `*.B` means every subdomain of B.",
    schema: hosts.optional(),
  },
  approval_pin_file: {
    title: "Approval PIN, from a file",
    group: "Assistants and approval",
    variable: "WAYPOST_APPROVAL_PIN_FILE",
    value: "FILE",
    secret: true,
    help:
      "A file with the PIN (at least 6 characters) that approval pages ask for. The first " +
      "start replaces the PIN with its hash.",
    docs: "See [Security model](../security-model.md#pin).",
    schema: secretText,
  },
  country_header: {
    title: "Country header",
    group: "Visitors and time",
    variable: "WAYPOST_COUNTRY_HEADER",
    value: "NAME",
    unset: "none",
    help:
      "The header, such as `CF-IPCountry`, in which a trusted proxy sends the visitor's " +
      "country.",
    schema: header.optional(),
  },
  geoip_file: {
    title: "Country file",
    group: "Visitors and time",
    variable: "WAYPOST_GEOIP_FILE",
    flag: "geoip-file",
    value: "FILE",
    unset: "none",
    help: "A database (`.mmdb`) for looking up a visitor's country when no header contains it.",
    schema: z.string().optional(),
  },
  time_zone: {
    title: "Time zone",
    group: "Visitors and time",
    variable: "WAYPOST_TIME_ZONE",
    flag: "time-zone",
    value: "ZONE",
    unset: "the machine's",
    help:
      "The time zone of the console, approval pages, tables and statistics, such as " +
      "Europe/Berlin.",
    schema: z
      .string()
      .refine(isTimeZone, { error: ({ input }) => explainTimeZone(String(input)) })
      .optional(),
  },
  log: {
    title: "Log",
    group: "Operation",
    variable: "WAYPOST_LOG",
    flag: "log",
    value: "LEVEL",
    default: "info",
    help: "The log level: `silent`, `error`, `warn`, `info` or `debug`.",
    docs: "See [Observability](../observability.md).",
    schema: z.enum(logLevels, `must be one of ${logLevels.join(", ")}`),
  },
  metrics_token: {
    title: "Metrics token",
    group: "Operation",
    variable: "WAYPOST_METRICS_TOKEN",
    value: "TOKEN",
    secret: true,
    help: "The token for `/metrics`. Without it, `serve` provides no metrics.",
    docs: "See [Metrics](metrics.md).",
    schema: secretText,
  },
  metrics_token_file: {
    title: "Metrics token, from a file",
    group: "Operation",
    variable: "WAYPOST_METRICS_TOKEN_FILE",
    value: "FILE",
    secret: true,
    help: "A file with the metrics token.",
    schema: secretText,
  },
} as const satisfies Readonly<Record<string, Setting>>;

export type SettingName = keyof typeof settings;

export const settingList: readonly Setting[] = Object.values(settings);

export type SecretName = {
  [Name in SettingName]: (typeof settings)[Name] extends { secret: true } ? Name : never;
}[SettingName];

type SettingsShape = { [Name in SettingName]: (typeof settings)[Name]["schema"] };

const schemas = Object.entries(settings).map(([name, { schema }]) => [name, schema]);

// `Object.fromEntries` loses the type of each schema.
export const settingsSchema = z.object(Object.fromEntries(schemas) as SettingsShape);

/** The name of a setting in messages: `--port (WAYPOST_PORT)`. */
export function nameSetting({ flag, variable }: Pick<Setting, "flag" | "variable">): string {
  return flag === undefined ? variable : `--${flag} (${variable})`;
}

export function isFixedOrigin(text: string): boolean {
  return isOrigin(text) && !text.includes("{");
}

function listGroups(): string {
  return groups.map((group) => `\`${group}\``).join(", ");
}

function isPlainAddress(url: string): boolean {
  return !/[?#@]/.test(url);
}
