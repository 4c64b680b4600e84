import type { Kysely } from "kysely";
import { UsageFault, type Config } from "../../config.ts";
import { writeLocalTime } from "../../contract/local-time.ts";
import { isOpenHttp } from "../../network/ip-address.ts";
import { describeTrustedProxies } from "../../network/client-address.ts";
import { StoreUnusable } from "../../sql/faults.ts";
import { readEngine } from "../../sql/open-kysely.ts";
import { findWriteFault } from "../../sql/postgres-faults.ts";
import { listCustomDomains } from "../../store/projects.ts";
import type { Store } from "../../store/store.ts";
import { listSlow } from "../../store/trigram-index.ts";
import { listDueWebhooks, listWebhooks, type Webhook } from "../../store/webhooks.ts";
import { findFix } from "../../webhooks/send-message.ts";
import { findClockFault } from "./watch-clock.ts";
import { findRecordFault, writeDomainRecord } from "./domain-record.ts";
import { readTimeZone } from "./time-zone.ts";
import type { ListenerDescription } from "../http/watch-proxies.ts";

/**
 * A line of `waypost doctor`: what was checked, and whether it is a fault, a warning or plain
 * information.
 */
export type Finding = {
  readonly about: string;
  readonly fault?: string;
  readonly warning?: string;
  readonly info?: string;
};

export type Note = (finding: Finding) => void;

/**
 * Runs a check. If it throws an error that the operator can fix, notes the error and returns
 * undefined.
 */
export async function attempt<Result>(
  about: string,
  note: Note,
  work: () => Promise<Result> | Result,
): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UsageFault) && !(error instanceof StoreUnusable)) throw error;
    note({ about, fault: error.message });
    return undefined;
  }
}

/** Lists effects of the settings that the operator may not expect, and how to avoid them. */
export function listSettingNotes({ base_url, trusted_proxies }: Config): readonly string[] {
  // Plain HTTP URLs have already been rejected unless WAYPOST_ALLOW_HTTP is set.
  const isOpen = base_url !== undefined && isOpenHttp(base_url);
  return [
    ...(isOpen ? ["the key is sent unencrypted: use https in WAYPOST_BASE_URL"] : []),
    ...(trusted_proxies === undefined
      ? []
      : [`X-Forwarded-For is trusted from ${describeTrustedProxies(trusted_proxies)}`]),
  ];
}

export async function noteCountries(
  { geoip_file, country_header }: Config,
  note: Note,
): Promise<void> {
  if (geoip_file === undefined) return;
  const about = "countries";
  await attempt(about, note, async () => {
    const { openCountryFile } = await import("../http/country-file.ts");
    const { kind, madeAt } = await openCountryFile(geoip_file);
    const file = `${kind} of ${madeAt.toISOString().slice(0, 10)}`;
    const header =
      country_header === undefined ? "" : `the header ${country_header}, otherwise from `;
    note({ about, info: `are read from ${header}${file}` });
  });
}

/** Reports custom domains that are unverified, or whose DNS record is missing. */
export async function noteCustomDomains({ db }: Pick<Store, "db">, note: Note): Promise<void> {
  const projects = await listCustomDomains(db);
  const faults = await Promise.all(
    projects.map(({ id, custom_domain }) => findRecordFault(writeDomainRecord(id, custom_domain))),
  );
  for (const [index, project] of projects.entries()) {
    const warning = describeDomain(project, faults[index]);
    if (warning !== undefined) note({ about: "domains", warning });
  }
}

type Domain = Awaited<ReturnType<typeof listCustomDomains>>[number];

function describeDomain(project: Domain, fault: string | undefined): string | undefined {
  const { id, subdomain, custom_domain, custom_domain_verified } = project;
  const { name, value } = writeDomainRecord(id, custom_domain);
  const verify = `waypost projects update ${subdomain} --verify-domain`;
  if (custom_domain_verified === 1) {
    if (fault === undefined) return undefined;
    const advice = `Set it to "${value}", or ignore this warning if you used --assume-verified.`;
    return `${custom_domain} is marked as verified, but the TXT record ${name} ${fault}. ${advice}`;
  }
  const state = `${custom_domain} is not verified, so it serves no links`;
  if (fault === undefined) return `${state}. Its TXT record is correct: run ${verify}`;
  return `${state}. The TXT record ${name} ${fault}. Set it to "${value}", then run ${verify}`;
}

type InspectionInput = {
  readonly config: Config;
  /** Undefined for a remote server, and before the first start. */
  readonly store: Pick<Store, "db"> | undefined;
  /** The process that serves the data folder, if there is one. */
  readonly listener: ListenerDescription | undefined;
};

/** Warns of a proxy in front of Waypost that is missing from the settings. */
export async function noteProxies(looked: InspectionInput, note: Note): Promise<void> {
  const { listener } = looked;
  // A stdio process serves only this machine, so no proxy is in front of it.
  if (listener?.kind === "stdio") return;
  const cause = listener?.hasMetProxy === true ? met : await findUnnamed(looked);
  if (cause !== undefined) note({ about: "proxies", warning: `${cause} ${hiddenAddresses}` });
}

const met = "Requests arrive through a proxy that WAYPOST_TRUSTED_PROXIES does not name.";

/** Waypost does not terminate TLS, so an https URL implies a proxy. */
async function findUnnamed({ config, store }: InspectionInput): Promise<string | undefined> {
  if (config.trusted_proxies !== undefined) return undefined;
  const https = findHttpsAddress(config) ?? (store && (await findVerifiedDomain(store)));
  if (https === undefined) return undefined;
  return `${https} uses https, so there is a proxy, but WAYPOST_TRUSTED_PROXIES is not set.`;
}

async function findVerifiedDomain({ db }: Pick<Store, "db">): Promise<string | undefined> {
  const domains = await listCustomDomains(db);
  return domains.find((one) => one.custom_domain_verified === 1)?.custom_domain;
}

function findHttpsAddress({ base_url, link_origin, public_url }: Config): string | undefined {
  const origin = base_url === undefined ? link_origin : undefined;
  return [origin, public_url].find((address) => address?.startsWith("https:"));
}

const hiddenAddresses =
  "All visitors seem to have the same address: they share one rate limit, and few iOS installs " +
  "can be matched to the link that was tapped. Set WAYPOST_TRUSTED_PROXIES to the proxy's " +
  "network (loopback if the proxy runs on this machine), then restart waypost serve";

/** Notes whether the database is writable, and problems with its clock and webhooks. */
export async function noteStore(
  { db }: Pick<Store, "db">,
  config: Config,
  now: number,
  note: Note,
): Promise<void> {
  const slow = await listSlow(db);
  const fault = await findWriteFault(db);
  const info = ["opens without errors", ...slow].join("; ");
  note({ about: "store", info, ...(fault && { fault }) });
  await noteClock(db, note);
  await noteWebhooks({ db }, config, now, note);
}

/** SQLite has no clock of its own, so only PostgreSQL is checked. */
async function noteClock(db: Store["db"], note: Note): Promise<void> {
  if (readEngine(db) === "sqlite") return;
  // The query uses no table, so the cast is safe.
  const fault = await findClockFault(db as unknown as Kysely<unknown>);
  note({ about: "clock", info: "agrees with the database's clock", ...(fault && { fault }) });
}

/** The age at which a waiting event is overdue. Leaves time for short outages and restarts. */
const patience_ms = 5 * 60_000;
/** The maximum number of listed webhooks. `waypost webhooks list` shows the rest. */
const mostFindings = 20;

/** Notes problems with the webhooks of all projects. Notes nothing if no webhooks exist. */
async function noteWebhooks(
  { db }: Pick<Store, "db">,
  config: Config,
  now: number,
  note: Note,
): Promise<void> {
  const webhooks = await listWebhooks(db);
  if (webhooks.length === 0) return;
  const about = "webhooks";
  const zone = readTimeZone(config);
  const writeTime = (time: number) => writeLocalTime(time, zone);
  const recent = now - patience_ms;
  const due = await listDueWebhooks(db, recent, webhooks.length);
  const found = webhooks.flatMap((webhook) => {
    const overdue = due.find(({ id }) => id === webhook.id)?.since;
    return listFindings(webhook, { overdue, recent, writeTime });
  });
  for (const finding of found.slice(0, mostFindings)) note({ about, ...finding });
  const more = found.length - mostFindings;
  if (more > 0) note({ about, info: `and ${more} more; waypost webhooks list shows all` });
  if (found.length > 0) return;
  const waiting = webhooks.reduce((sum, each) => sum + each.waiting, 0);
  const count = webhooks.length === 1 ? "1 webhook" : `${webhooks.length} webhooks`;
  note({ about, info: `${count}, no failed deliveries; ${describeWaiting(waiting)}` });
}

type OverdueEvents = {
  /** The creation time of the oldest overdue event. */
  readonly overdue: number | undefined;
  /** Events after this time are not overdue yet. */
  readonly recent: number;
  readonly writeTime: (time: number) => string;
};

function listFindings(
  webhook: Webhook,
  { overdue, recent, writeTime }: OverdueEvents,
): readonly Omit<Finding, "about">[] {
  const { id, url, waiting, dead, failing_since, last_at, last_fault } = webhook;
  // The full URL may contain the receiver's secret.
  const name = `${new URL(url).host} (${id})`;
  const found: Omit<Finding, "about">[] = [];
  if (overdue !== undefined && Math.max(overdue, last_at ?? 0) <= recent) {
    const since = waiting === 1 ? "since" : "the oldest since";
    const fault =
      `No server delivers to ${name}: ${describeWaiting(waiting)}, ` +
      `${since} ${writeTime(overdue)}. Start waypost serve, which delivers them`;
    found.push({ fault });
  } else if (failing_since !== null) {
    const fix = findFix(last_fault);
    const line =
      `${name} has accepted no events since ${writeTime(failing_since)} ` +
      `(${last_fault ?? "no answer"}); ${describeWaiting(waiting)}. ` +
      `Check ${fix === undefined ? "the receiver" : "its address"}, ` +
      `then run waypost webhooks test ${id}${fix === undefined ? "" : `. ${fix}`}`;
    found.push(failing_since <= recent ? { fault: line } : { info: line });
  }
  if (dead > 0) {
    const [lost, them] =
      dead === 1
        ? [`1 event for ${name} could not be delivered. It is`, "it"]
        : [`${dead} events for ${name} could not be delivered. They are`, "them"];
    const resend = `waypost webhooks resend ${id} sends ${them} again`;
    found.push({ info: `${lost} kept for a week: ${resend}` });
  }
  return found;
}

function describeWaiting(waiting: number): string {
  return waiting === 1 ? "1 event is waiting" : `${waiting} events are waiting`;
}
