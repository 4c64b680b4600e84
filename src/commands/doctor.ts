import { existsSync } from "node:fs";
import { chooseTools, inspectTools } from "../app/process/assistant.ts";
import { checkDataFolder, findOwnerKeyFile, hasDatabase } from "../app/data/data-folder.ts";
import { openDeployment, type Deployment } from "../app/process/deployment.ts";
import { clock, refuseOtherVersions } from "../app/process/embedded.ts";
import {
  attempt,
  listSettingNotes,
  noteCountries,
  noteCustomDomains,
  noteProxies,
  noteStore,
  type Finding,
  type Note,
} from "../app/process/findings.ts";
import { explainOwnerKey, findOwnerKey, type OwnerKey } from "../app/data/first-start.ts";
import { findStatement } from "../app/listening/ask-listener.ts";
import { createLog, createReport } from "../app/process/log.ts";
import { checkPinFile } from "../app/data/pin-file.ts";
import { openProbe } from "../app/process/open-client.ts";
import { fetchPublicFile } from "../app/process/public-files.ts";
import { readDatabaseUrl, readGivenSecret, requireKey } from "../app/data/secrets.ts";
import { CallFailure } from "../client/outcome.ts";
import type { Config } from "../config.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { contract } from "../contract/index.ts";
import { neverAborted } from "../contract/waiting.ts";
import { Problem } from "../contract/problem.ts";
import { readAnswer } from "../contract/server-answer.ts";
import { writeHosts } from "../contract/rules/destinations.ts";
import type { DomainCheck } from "../domain/check-host.ts";
import { describeDatabase } from "../network/database-url.ts";
import { NotMigrated } from "../sql/faults.ts";
import type { Command, Invocation } from "./terminal/command.ts";
import { nameCommand, nameMakeKey } from "./terminal/command-name.ts";
import { print } from "./terminal/output.ts";

/** `waypost doctor` checks the whole setup, and says how to fix each fault. */

const doctorFlags = {
  "--public":
    "also check the link hosts over the internet, as phones see them: the same checks as the " +
    "tool `check_domain`",
};

export const doctor: Command<typeof doctorFlags> = {
  usages: { doctor: ["check the whole setup, without changing anything", run] },
  flags: doctorFlags,
};

/** Prints a line for each check, with the fix for each fault. Returns false after a fault. */
async function run(invocation: Invocation<typeof doctorFlags>): Promise<boolean> {
  const { config, runtime } = invocation;
  const faults: string[] = [];
  const note = ({ about, fault, warning, info = "" }: Finding) => {
    const word = fault !== undefined ? "FAULT" : warning !== undefined ? "WARN" : "ok";
    print(`${word.padEnd(5)} ${about.padEnd(13)} ${fault ?? warning ?? info}`);
    if (fault !== undefined) faults.push(fault);
  };
  const checks = { ...invocation, note };
  note(describeConfiguration(config, runtime.version));
  const { approval_pin_file: pin } = config.secrets;
  await attempt("tools", note, () => chooseTools(config));
  await attempt("pin", note, () => (pin === undefined ? undefined : checkPinFile(pin)));
  await attempt("token", note, () => readGivenSecret(config, "http_token"));
  // Any fault so far prevents start-up, so the other checks are skipped.
  if (faults.length > 0) return false;
  await noteCountries(config, note);
  const deployment = await openExisting(checks);
  const store = deployment?.own?.store;
  try {
    const isSound = await attempt("store", note, async () => {
      if (store === undefined) return true;
      await noteStore(store, config, clock.now(), note);
      await noteCustomDomains(store, note);
      return true;
    });
    await attempt("proxies", note, async () => {
      const listener = store && (await findStatement(config));
      await noteProxies({ config, store, listener }, note);
    });
    if (deployment !== undefined && isSound === true) await examine(deployment, checks);
  } finally {
    await deployment?.close();
  }
  return faults.length === 0;
}

type Checks = Invocation<typeof doctorFlags> & { readonly note: Note };

function describeConfiguration(config: Config, version: string): Finding {
  const { base_url, mode, tools, destinations, data } = config;
  const url = readDatabaseUrl(config);
  const tables = url === undefined ? "" : ` and ${describeDatabase(url)}`;
  const where =
    base_url === undefined ? `embedded, data in ${data}${tables}` : `remote, ${base_url}`;
  const chosen = tools.length === 0 ? "all tools" : `tools ${tools.join(",")}`;
  const runtime = `Waypost ${version} on Node ${process.versions.node}`;
  const hosts = destinations === undefined ? "any host" : writeHosts(destinations);
  const info = `${runtime}: ${where}, mode ${mode}, ${chosen}, destinations ${hosts}`;
  return { about: "configuration", info: [info, ...listSettingNotes(config)].join("; ") };
}

/** Returns undefined before the first start, or if the database cannot be opened. */
async function openExisting({ config, note }: Checks): Promise<Deployment | undefined> {
  const isOwn = config.base_url === undefined;
  return attempt(isOwn ? "store" : "remote server", note, async () => {
    if (isOwn && readDatabaseUrl(config) === undefined && !hasDatabase(config.data)) {
      refuseOtherVersions(config);
      return noteFirstStart(config, note);
    }
    const report = createReport(createLog({ log: "silent" }));
    // Opens the store without changing it, and checks even large files completely.
    const opening = openDeployment({ config, report, mustExist: true, checksAll: true });
    return opening.catch((error: unknown) => {
      if (!(error instanceof NotMigrated)) throw error;
      return noteFirstStart(config, note);
    });
  });
}

/**
 * Describes what the first start will create. A new database has no keys, so a key from the
 * settings would be rejected.
 */
function noteFirstStart(config: Config, note: Note): undefined {
  const { data, secrets } = config;
  checkDataFolder(data);
  const url = readDatabaseUrl(config);
  const place = url === undefined ? data : describeDatabase(url);
  note({ about: "store", info: `does not exist yet; the first start creates it in ${place}` });
  const fault =
    "is set, but a new database does not have this key; unset WAYPOST_API_KEY and " +
    "WAYPOST_API_KEY_FILE, or set WAYPOST_BASE_URL";
  const file = findOwnerKeyFile(data);
  const info = `the first start ${existsSync(file) ? "uses the key" : "creates it"} in ${file}`;
  note({ about: "key", info, ...(isKeyGiven(secrets) && { fault }) });
  note({ about: "approvals", info: keptLater });
}

const keptLater = "can be stored (the first approval creates the file)";

function isKeyGiven({ api_key, api_key_file }: Config["secrets"]): boolean {
  return (api_key ?? api_key_file) !== undefined;
}

async function examine(deployment: Deployment, checks: Checks): Promise<void> {
  const { config, flags, runtime, note } = checks;
  const { own } = deployment;
  const ownerKey = own && !isKeyGiven(config.secrets) ? await findOwnerKey(own) : undefined;
  const isUseless = ownerKey !== undefined && ownerKey.state !== "opens";
  if (isUseless) noteOwnerKey(ownerKey, checks);
  const key = isUseless ? undefined : await attempt("key", note, () => requireKey(config));
  if (ownerKey?.state !== "wrong" && (await noteAnswer(deployment, key, note))) {
    const { version } = runtime;
    const inspected = await inspectTools({ config, version, key, deployment, mustExist: true });
    note({ about: "access", info: describeAccess(inspected) });
    if (flags.public === true && isUseless) note({ about: "domain", warning: noKeyForHosts });
    else if (flags.public === true) {
      const { access, known } = inspected.keyContext;
      const { call } = openProbe(deployment, key);
      const mayRead = (endpoint: Endpoint) => access.read(endpoint).state !== "denied";
      const reading = { call, known, mayRead, signal: neverAborted };
      await noteDomains({ ...reading, fetchFile: fetchPublicFile, now: clock.now() }, note);
    }
  }
  await tryState(config, deployment, note);
}

/** Sends a read request. Returns false if further checks would be pointless. */
async function noteAnswer(deployment: Deployment, key: string | undefined, note: Note) {
  const { origin, own } = deployment;
  const probe = openProbe(deployment, key).call(contract.links.index, { limit: 1 });
  const failure: unknown = await probe.then(() => undefined).catch((error: unknown) => error);
  if (failure instanceof CallFailure) {
    note({ about: "remote server", fault: `${failure.message} (WAYPOST_BASE_URL)` });
    return false;
  }
  if (failure !== undefined && !(failure instanceof Problem)) throw failure;
  if (own === undefined) note({ about: "remote server", info: `${origin} answers` });
  if (failure === undefined) note({ about: "key", info: "works" });
  if (failure === undefined || key === undefined) return true;
  const { message } = failure;
  const isRejected = /invalid\.|suspended/i.test(readAnswer(message));
  note({ about: "key", info: `is accepted (${message})`, ...(isRejected && { fault: message }) });
  return !isRejected;
}

const noKeyForHosts =
  "the link hosts were not checked, because that needs the owner's key or WAYPOST_API_KEY";

function describeAccess({ toolbox, keyContext: { access } }: Inspected): string {
  const states = toolbox.tools.map((tool) => tool.readAccess(access).state);
  const count = (state: string) => states.filter((each) => each === state).length;
  const unknown = count("unknown");
  const also = unknown === 0 ? "" : `, and perhaps ${unknown} more`;
  const kind = access.readKind() === "none" ? "no" : access.readKind();
  return `${kind} key; ${count("granted")} tools can be used${also} (waypost tools lists them)`;
}

type Inspected = Awaited<ReturnType<typeof inspectTools>>;

export async function noteDomains(look: DomainCheck, note: Note): Promise<void> {
  const { checkOwnHost, listOwnHosts } = await import("../domain/check-host.ts");
  const about = "domain";
  const listed = await listOwnHosts(look);
  if ("refused" in listed) {
    const { message, fix } = listed.refused;
    return note({ about, fault: `${message} ${fix}` });
  }
  for (const origin of listed.origins) {
    const { host, findings } = await checkOwnHost(origin, look);
    for (const { severity, message, fix } of findings) {
      note({ about, [members[severity]]: `${host}: ${message} ${fix}` });
    }
    if (findings.length === 0) note({ about, info: `${host}: phones can verify the apps` });
  }
}

const members = { error: "fault", warning: "warning", info: "info" } as const;

async function tryState({ data }: Config, { state }: Deployment, note: Note): Promise<void> {
  const about = "approvals";
  try {
    if (state.exists()) await state.open();
    else checkDataFolder(data);
    note({ about, info: state.exists() ? "can be stored" : keptLater });
  } catch (error) {
    if (error instanceof NotMigrated) note({ about, info: keptLater });
    else note({ about, fault: error instanceof Error ? error.message : "" });
  }
}

/**
 * If another machine has the owner's key, a missing key is not a fault: this machine probably runs
 * only `serve`, which needs no key.
 */
function noteOwnerKey(key: OwnerKey, { config, runtime, note }: Checks): void {
  const about = "key";
  const where = explainOwnerKey(key, nameMakeKey(config, nameCommand(runtime.program)));
  const need = `no key was found; ${where}, or set WAYPOST_API_KEY or WAYPOST_API_KEY_FILE`;
  if (key.state === "wrong") note({ about, fault: where });
  else if (key.elsewhere === undefined) note({ about, fault: need });
  else note({ about, info: `waypost serve needs no key in ${config.data}; ${where}` });
}
