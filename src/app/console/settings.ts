import { resolve } from "node:path";
import type { Config } from "../../config.ts";
import {
  settingGroups,
  settings,
  type SecretName,
  type Setting,
  type SettingName,
} from "../../config/settings.ts";
import type { ServerSettings, ShownSetting } from "../../console/account.ts";
import { writeHosts } from "../../contract/rules/destinations.ts";
import { writeNetworks } from "../../network/ip-address.ts";
import { describeTrustedProxies } from "../../network/client-address.ts";
import { describeDatabase } from "../../network/database-url.ts";
import { nameEngine } from "../../store/store.ts";
import type { AccountContext } from "./parts.ts";
import { clock } from "../process/embedded.ts";
import {
  listSettingNotes,
  noteCountries,
  noteProxies,
  noteStore,
  type Finding,
} from "../process/findings.ts";
import { readDatabaseUrl } from "../data/secrets.ts";
import { readTimeZone } from "../process/time-zone.ts";

/**
 * Describes this process's settings and their sources. Secrets are shown only as "set" or "not
 * set".
 */
export async function describeSettings(context: AccountContext): Promise<ServerSettings> {
  const { config, version, addresses } = context;
  const { mcp, url } = addresses;
  return {
    now: [
      ["Waypost", version],
      ["Node.js", process.versions.node],
      await describeStore(context),
      ["Address", url],
      ...(mcp === undefined ? [] : [["MCP", mcp] as const]),
    ],
    findings: await listFindings(context),
    groups: listGroups(config),
  };
}

async function describeStore({ deployment, config }: AccountContext) {
  const { own } = deployment;
  if (own === undefined) return ["Remote server", config.base_url ?? ""] as const;
  return ["Database", await nameEngine(own.store.db)] as const;
}

/** Runs the checks of `waypost doctor` that are possible in a running process. */
async function listFindings(context: AccountContext): Promise<readonly Finding[]> {
  const { config, describeListener } = context;
  const store = context.deployment.own?.store;
  const findings: Finding[] = [];
  const note = (finding: Finding) => void findings.push(finding);
  for (const info of listSettingNotes(config)) note({ about: "configuration", info });
  await noteCountries(config, note);
  if (store !== undefined) await noteStore(store, config, clock.now(), note);
  await noteProxies({ config, store, listener: describeListener() }, note);
  return findings;
}

function listGroups(config: Config): ServerSettings["groups"] {
  const entries: readonly (readonly [string, Setting])[] = Object.entries(settings);
  return settingGroups.map((name) => ({
    name,
    rows: entries
      .filter(([, { group }]) => group === name)
      // `Object.entries` widens the keys to strings.
      .map(([key, setting]) => describeSetting(key as SettingName, setting, config)),
  }));
}

function describeSetting(name: SettingName, setting: Setting, config: Config): ShownSetting {
  const { title, variable, flag, unset = "" } = setting;
  const { given } = config;
  const isFlagGiven = flag !== undefined && given.flags.has(flag);
  const isVariableGiven = given.variables.has(variable);
  const value = isSecret(name) ? (isVariableGiven ? "set" : "not set") : values[name](config);
  return {
    name: title,
    value: value || unset,
    from: isFlagGiven ? "flag" : isVariableGiven ? "environment" : "default",
    variable,
    ...(flag !== undefined && { flag: `--${flag}` }),
  };
}

function isSecret(name: SettingName): name is SecretName {
  return "secret" in settings[name];
}

/** Formats the values of settings; undefined for a setting that is not set. */
const values: Readonly<
  Record<Exclude<SettingName, SecretName>, (config: Config) => string | undefined>
> = {
  data: ({ data }) => resolve(data),
  database_url: (config) => {
    const url = readDatabaseUrl(config);
    return url === undefined ? undefined : describeDatabase(url);
  },
  host: ({ host }) => host,
  port: ({ port }) => (port === 0 ? "any free one" : String(port)),
  public_url: ({ public_url }) => public_url,
  link_origin: ({ link_origin, base_url }) =>
    link_origin ?? (base_url === undefined ? undefined : "unknown"),
  second_origin: ({ second_origin }) => second_origin,
  trusted_proxies: ({ trusted_proxies: proxies }) => proxies && describeTrustedProxies(proxies),
  webhook_private: ({ webhook_private }) => writeNetworks(webhook_private),
  serve: ({ serve }) => writeSwitch(serve),
  console: ({ console }) => writeSwitch(console),
  console_path: ({ console_path }) => (console_path === "" ? "/" : console_path),
  base_url: ({ base_url }) => base_url,
  allow_http: ({ given }) =>
    given.variables.has(settings.allow_http.variable) ? "anywhere" : undefined,
  scopes: ({ scopes }) => scopes?.join(", "),
  probe: ({ probe }) => probe,
  mode: ({ mode }) => mode,
  tools: ({ tools }) => tools.join(", "),
  destinations: ({ destinations }) => destinations && writeHosts(destinations),
  country_header: ({ country_header }) => country_header,
  geoip_file: ({ geoip_file }) => geoip_file,
  time_zone: (config) => config.time_zone ?? readTimeZone(config).name,
  log: ({ log }) => log,
};

function writeSwitch(isOn: boolean): string {
  return isOn ? "on" : "off";
}
