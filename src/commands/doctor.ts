import { existsSync } from "node:fs";
import { describeLinkOrigin } from "../app/http/addresses.ts";
import { chooseTools, inspectTools } from "../app/process/assistant.ts";
import { checkDataFolder, findOwnerKeyFile, hasDatabase } from "../app/data/data-folder.ts";
import { openDeployment, type Deployment } from "../app/process/deployment.ts";
import { clock, refuseOtherVersions } from "../app/process/embedded.ts";
import { explainOwnerKey } from "../app/data/explain-owner-key.ts";
import {
  listSettingNotes,
  noteCountries,
  noteCustomDomains,
  noteProxies,
  noteStore,
  noteUsageFault,
  type Finding,
  type Note,
} from "../app/process/findings.ts";
import { findOwnerKey, type OwnerKey } from "../app/data/first-start.ts";
import { findStatement } from "../app/listening/ask-listener.ts";
import { createLog, createReport } from "../app/process/log.ts";
import { checkPinFile } from "../app/data/pin-file.ts";
import { fetchPublicFile } from "../app/process/public-files.ts";
import { readDatabaseUrl, readGivenToken } from "../app/data/secrets.ts";
import type { Config } from "../config.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { nobodyLeaves } from "../contract/leaving.ts";
import { writeHosts } from "../contract/rules/destinations.ts";
import { describeDatabase } from "../network/database-url.ts";
import { NotMigrated } from "../sql/faults.ts";
import { askDeployment, openClient, tryKey } from "./doctor/ask-deployment.ts";
import type { Command, Invocation } from "./terminal/command.ts";
import { nameCommand, nameMakeKey } from "./terminal/command-name.ts";
import { print } from "./terminal/output.ts";

const doctorFlags = {
  "--public":
    "also check the link hosts over the internet, as phones see them: the same checks as the " +
    "tool `check_domain`",
};

export const doctor: Command<typeof doctorFlags> = {
  usages: { doctor: ["check the whole setup, without changing anything", run] },
  flags: doctorFlags,
};

type DoctorOptions = Invocation<typeof doctorFlags>;

/** Prints a line about each check, and how to fix a fault. False if something must be fixed. */
async function run(options: DoctorOptions): Promise<boolean> {
  const { config, host } = options;
  const findings: Finding[] = [];
  const note = (finding: Finding) => {
    findings.push(finding);
    const { about, fault, warning, said } = finding;
    const word = fault === undefined ? (warning === undefined ? "ok" : "WARN") : "FAULT";
    print(`${word.padEnd(5)} ${about.padEnd(13)} ${fault ?? warning ?? said ?? ""}`);
  };
  note(describeConfiguration(config, host.version));
  if (!trySettings(config, note)) return false;
  await noteCountries(config, note);
  const deployment = await tryOpen(options, note);
  try {
    await tryProxies(config, deployment, note);
    if (deployment !== undefined) await examine(options, deployment, note);
  } finally {
    await deployment?.close();
  }
  return findings.every(({ fault }) => fault === undefined);
}

function describeConfiguration(config: Config, version: string): Finding {
  const { base_url, mode, tools, destinations, data } = config;
  const url = readDatabaseUrl(config);
  const tables = url === undefined ? "" : ` and ${describeDatabase(url)}`;
  const where =
    base_url === undefined ? `embedded, data in ${data}${tables}` : `remote, ${base_url}`;
  const chosen = tools.length === 0 ? "all tools" : `tools ${tools.join(",")}`;
  const runtime = `Waypost ${version} on Node ${process.versions.node}`;
  const hosts = destinations === undefined ? "any host" : writeHosts(destinations);
  const said = `${runtime}: ${where}, mode ${mode}, ${chosen}, destinations ${hosts}`;
  return { about: "configuration", said: [said, ...listSettingNotes(config)].join("; ") };
}

/** Checks everything that a start would be refused for, and opens or makes nothing. */
function trySettings(config: Config, note: Note): boolean {
  const { approval_pin_file } = config.secrets;
  const checks: Readonly<Record<string, () => unknown>> = {
    tools: () => chooseTools(config),
    pin: () => approval_pin_file !== undefined && checkPinFile(approval_pin_file),
    token: () => readGivenToken(config),
  };
  const faults = Object.entries(checks).flatMap(([about, check]) => {
    try {
      check();
      return [];
    } catch (error) {
      return [noteUsageFault(about, error, note)];
    }
  });
  return faults.length === 0;
}

async function tryOpen({ config }: DoctorOptions, note: Note): Promise<Deployment | undefined> {
  const report = createReport(createLog({ log: "silent" }));
  const about = config.base_url === undefined ? "store" : "remote server";
  try {
    const isOwn = config.base_url === undefined && readDatabaseUrl(config) === undefined;
    if (isOwn && !hasDatabase(config.data)) {
      refuseOtherVersions(config);
      noteFirstStart(config, note);
      return undefined;
    }
    const readLinkOrigin = () => describeLinkOrigin(config, config.port);
    const deployment = await openDeployment({ config, readLinkOrigin, report, ...looking });
    if (deployment.own === undefined) return deployment;
    await noteStore(deployment.own.store, config, clock.now(), note);
    await noteCustomDomains(deployment.own.store, note);
    return deployment;
  } catch (error) {
    if (error instanceof NotMigrated) noteFirstStart(config, note);
    else noteUsageFault(about, error, note);
    return undefined;
  }
}

async function tryProxies(
  config: Config,
  deployment: Deployment | undefined,
  note: Note,
): Promise<void> {
  const store = deployment?.own?.store;
  try {
    // Nobody listens for a folder without a store.
    const listener = store && (await findStatement(config));
    await noteProxies({ config, store, listener }, note);
  } catch (error) {
    noteUsageFault("proxies", error, note);
  }
}

/** A start looks at the beginning of a large file alone. */
const looking = { isLook: true, checksAll: true } as const;

/** What a first start will make; a key that was given is one that no store knows. */
function noteFirstStart(config: Config, note: Note): void {
  const { data, secrets } = config;
  checkDataFolder(data);
  const url = readDatabaseUrl(config);
  const place = url === undefined ? data : describeDatabase(url);
  note({ about: "store", said: `does not exist yet; the first start creates it in ${place}` });
  const isGiven = secrets.api_key !== undefined || secrets.api_key_file !== undefined;
  const fault =
    "is set, but a new database does not have this key; unset WAYPOST_API_KEY and " +
    "WAYPOST_API_KEY_FILE, or set WAYPOST_BASE_URL";
  const file = findOwnerKeyFile(data);
  const said = existsSync(file)
    ? `the first start uses the key in ${file}`
    : `the first start creates it in ${file}`;
  note({ about: "key", said, ...(isGiven && { fault }) });
  note({ about: "approvals", said: keptLater });
}

const keptLater = "can be stored (the first approval creates the file)";

async function examine(options: DoctorOptions, deployment: Deployment, note: Note): Promise<void> {
  const { config, host, flags } = options;
  const { version } = host;
  const ownerKey = await findUselessKey(config, deployment);
  if (ownerKey !== undefined) noteOwnerKey(ownerKey, { config, program: host.program, note });
  const key = ownerKey === undefined ? tryKey(config, note) : undefined;
  if (ownerKey?.state !== "wrong" && (await askDeployment(deployment, key, note))) {
    const inspected = await inspectTools({ config, version, key, deployment, isLook: true });
    note({ about: "access", said: describeAccess(inspected) });
    if (flags.public === true) {
      if (ownerKey === undefined) await noteHosts(deployment, key, inspected, note);
      else note({ about: "domain", warning: noKeyForHosts });
    }
  }
  await tryState(config, deployment, note);
}

const noKeyForHosts =
  "the link hosts were not checked, because that needs the owner's key or WAYPOST_API_KEY";

function describeAccess({ toolbox, keyContext: { access } }: Inspected): string {
  const states = toolbox.tools.map((tool) => tool.readAccess(access).state);
  const count = (state: string) => states.filter((each) => each === state).length;
  const unknown = count("unknown");
  const also = unknown === 0 ? "" : `, and perhaps ${unknown} more`;
  const kind = keyKinds[access.readKind()];
  return `${kind}; ${count("granted")} tools can be used${also} (waypost tools lists them)`;
}

const keyKinds = {
  project: "project key",
  master: "master key",
  none: "no key",
} as const;

type Inspected = Awaited<ReturnType<typeof inspectTools>>;

async function noteHosts(
  deployment: Deployment,
  key: string | undefined,
  { keyContext: { access, known } }: Inspected,
  note: Note,
): Promise<void> {
  const { noteDomains } = await import("./doctor/note-domains.ts");
  const { call } = openClient(deployment, key);
  const mayRead = (endpoint: Endpoint) => access.read(endpoint).state !== "denied";
  const reading = { call, known, mayRead, signal: nobodyLeaves };
  await noteDomains({ ...reading, fetchFile: fetchPublicFile, now: clock.now() }, note);
}

async function tryState(config: Config, { state }: Deployment, note: Note): Promise<void> {
  const about = "approvals";
  try {
    if (state.exists()) await state.open();
    else checkDataFolder(config.data);
    note({ about, said: state.exists() ? "can be stored" : keptLater });
  } catch (error) {
    if (error instanceof NotMigrated) note({ about, said: keptLater });
    else note({ about, fault: error instanceof Error ? error.message : "" });
  }
}

/** Undefined if the settings name another key, or the folder's own key works. */
async function findUselessKey(
  { secrets }: Config,
  { own }: Deployment,
): Promise<OwnerKey | undefined> {
  const isGiven = secrets.api_key !== undefined || secrets.api_key_file !== undefined;
  if (own === undefined || isGiven) return undefined;
  const key = await findOwnerKey(own);
  return key.state === "opens" ? undefined : key;
}

type Noting = { readonly config: Config; readonly program: string; readonly note: Note };

/** If another machine has the key, this one is probably only used for `serve`, without a key. */
function noteOwnerKey(key: OwnerKey, { config, program, note }: Noting): void {
  const about = "key";
  const where = explainOwnerKey(key, nameMakeKey(config, nameCommand(program)));
  if (key.state === "wrong") note({ about, fault: where });
  else if (key.elsewhere === undefined) {
    note({
      about,
      fault: `no key was found; ${where}, or set WAYPOST_API_KEY or WAYPOST_API_KEY_FILE`,
    });
  } else note({ about, said: `waypost serve needs no key in ${config.data}; ${where}` });
}
