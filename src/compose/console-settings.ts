import { resolve } from "node:path";
import { settings, type Config } from "../config.ts";
import type { JsonObject } from "../contract/json.ts";
import { writeHosts } from "../contract/rules/destinations.ts";
import { writeNetworks } from "../network/read-networks.ts";
import { describeTrustedProxies } from "../network/trusted-proxies.ts";
import { describeDatabase } from "../sql/postgres.ts";
import { nameEngine } from "../store/engines/describe-database.ts";
import { isOperator, type Acting, type ConsoleAct } from "./console-act.ts";
import { clock } from "./embedded.ts";
import type { Finding } from "./findings/finding.ts";
import { listSettingNotes } from "./findings/list-setting-notes.ts";
import { noteCountries } from "./findings/note-countries.ts";
import { noteProxies } from "./findings/note-proxies.ts";
import { noteStore } from "./findings/note-store.ts";
import { readDatabaseUrl } from "./secrets.ts";
import { readTimeZone } from "./time-zone.ts";

/** How this process is set, and by what. Of a secret nothing is told but that it is set. */

export const settingsActs: Readonly<Record<string, ConsoleAct>> = {
  read_settings: { isThere: isOperator, run: (_, acting) => describe(acting) },
};

type Row = {
  readonly name: string;
  readonly value: string;
  /** By what it is set, and where it can be. */
  readonly from: string;
  readonly variable: string;
  readonly flag?: string;
};

async function describe(acting: Acting): Promise<JsonObject> {
  const { config, version, addresses } = acting;
  const { mcp, url } = addresses;
  return {
    now: [
      ["Waypost", version],
      ["Node.js", process.versions.node],
      await describeStore(acting),
      ["Address", url],
      ...(mcp === undefined ? [] : [["MCP", mcp]]),
    ].map(([name, value]) => ({ name, value })),
    findings: await listFindings(acting),
    groups: listGroups(config).map(({ name, rows }) => ({ name, rows })),
  };
}

async function describeStore({ deployment, config }: Acting) {
  const { own } = deployment;
  if (own === undefined) return ["Remote server", config.base_url ?? ""];
  return ["Database", await nameEngine(own.store.db)];
}

/** What `waypost doctor` says of a process that runs. */
async function listFindings(acting: Acting): Promise<readonly Finding[]> {
  const { config, readServedBy } = acting;
  const store = acting.deployment.own?.store;
  const findings: Finding[] = [];
  const note = (finding: Finding) => void findings.push(finding);
  for (const said of listSettingNotes(config)) note({ about: "configuration", said });
  await noteCountries(config, note);
  if (store !== undefined) await noteStore(store, config, clock.now(), note);
  await noteProxies({ config, store, listener: readServedBy() }, note);
  return findings;
}

type Group = { readonly name: string; readonly rows: readonly Row[] };

function listGroups(config: Config): readonly Group[] {
  const rows = prepareRows(config);
  return [
    { name: "Data", rows: listPlaces(config, rows) },
    { name: "Server", rows: listServer(config, rows) },
    { name: "Links", rows: listLinks(config, rows) },
    { name: "Assistants", rows: listAssistants(config, rows) },
    { name: "Secrets", rows: listSecrets(config, rows) },
  ];
}

type Rows = ReturnType<typeof prepareRows>;

function prepareRows(config: Config) {
  const by = (name: string, variable: string, value: string): Row => {
    return { name, value, variable, from: findSource(config, variable) };
  };
  return {
    of: (name: string, setting: keyof typeof settings, value: string): Row => {
      const { variable, flag } = settings[setting];
      return { name, value, variable, flag: `--${flag}`, from: findSource(config, variable, flag) };
    },
    /** What no flag sets. */
    by,
    secret: (name: string, variable: string): Row =>
      by(name, variable, config.given.variables.has(variable) ? "set" : "not set"),
  };
}

function findSource({ given }: Config, variable: string, flag?: string): string {
  if (flag !== undefined && given.flags.has(flag)) return "flag";
  return given.variables.has(variable) ? "environment" : "default";
}

function listPlaces(config: Config, { of, secret }: Rows): readonly Row[] {
  const url = readDatabaseUrl(config);
  return [
    of("Data folder", "data", resolve(config.data)),
    of(
      "Database",
      "database_url",
      url === undefined ? "in the data folder" : describeDatabase(url),
    ),
    secret("Database, from a file", "WAYPOST_DATABASE_URL_FILE"),
    of("Remote server", "base_url", config.base_url ?? "none"),
  ];
}

function listServer(config: Config, { of, by }: Rows): readonly Row[] {
  const { port, trusted_proxies: proxies, webhook_private: networks } = config;
  return [
    of("Host", "host", config.host),
    of("Port", "port", port === 0 ? "any free one" : String(port)),
    of("Public address", "public_url", config.public_url ?? "from host and port"),
    of("Trusted proxies", "trusted_proxies", proxies ? describeTrustedProxies(proxies) : "none"),
    by("Country header", "WAYPOST_COUNTRY_HEADER", config.country_header ?? "none"),
    of("Country file", "geoip_file", config.geoip_file ?? "none"),
    of("Webhooks in private networks", "webhook_private", writeNetworks(networks) || "none"),
    by("Console", "WAYPOST_CONSOLE", writeSwitch(config.console)),
    by("Links over stdio", "WAYPOST_SERVE", writeSwitch(config.serve)),
    of("Log", "log", config.log),
    of("Time zone", "time_zone", config.time_zone ?? readTimeZone(config).name),
  ];
}

function writeSwitch(isOn: boolean): string {
  return isOn ? "on" : "off";
}

function listLinks(config: Config, { of }: Rows): readonly Row[] {
  const { destinations, base_url } = config;
  const unset = base_url === undefined ? "on this machine" : "unknown";
  return [
    of("Link addresses", "link_origin", config.link_origin ?? unset),
    of("Second address", "second_origin", config.second_origin ?? "none"),
    of("Destinations", "destinations", destinations ? writeHosts(destinations) : "any host"),
  ];
}

function listAssistants({ mode, tools, scopes, probe }: Config, { of }: Rows): readonly Row[] {
  return [
    of("Mode", "mode", mode),
    of("Tools", "tools", tools.length === 0 ? "all" : tools.join(", ")),
    of("Scopes", "scopes", scopes?.join(", ") ?? "detected"),
    of("Probing", "probe", probe),
  ];
}

function listSecrets(config: Config, { by, secret }: Rows): readonly Row[] {
  return [
    secret("API key", "WAYPOST_API_KEY"),
    secret("API key, from a file", "WAYPOST_API_KEY_FILE"),
    by("API key over plain HTTP", "WAYPOST_ALLOW_HTTP", describeOpen(config)),
    secret("Gateway token", "WAYPOST_HTTP_TOKEN"),
    secret("Gateway token, from a file", "WAYPOST_HTTP_TOKEN_FILE"),
    secret("Approval PIN, from a file", "WAYPOST_APPROVAL_PIN_FILE"),
    secret("Metrics token", "WAYPOST_METRICS_TOKEN"),
    secret("Metrics token, from a file", "WAYPOST_METRICS_TOKEN_FILE"),
  ];
}

function describeOpen({ given }: Config): string {
  return given.variables.has("WAYPOST_ALLOW_HTTP") ? "anywhere" : "only to this machine";
}
