import type { Kysely } from "kysely";
import { type Send, sendEmbedded } from "../../client/send-once.ts";
import { openRemoteSender } from "../../client/remote-sender.ts";
import type { Config } from "../../config.ts";
import type { KnownKey } from "../../contract/access.ts";
import { hasSubdomains } from "../../contract/rules/link-address.ts";
import type { WatchRequest } from "../../contract/watch.ts";
import { createClicks, type Clicks } from "../../host/clicks.ts";
import { createDeferredVisits, type DeferredVisits } from "../../host/deferred-visits.ts";
import { answerOverHttp, type AnswerHttp } from "../../service/http.ts";
import { createKeyUses } from "../../service/keys.ts";
import { createService, type Service } from "../../service/service.ts";
import { StoreUnusable } from "../../sql/faults.ts";
import { findWriteFault } from "../../sql/postgres-faults.ts";
import { describeDatabase } from "../../network/database-url.ts";
import { countProjects } from "../../store/projects.ts";
import type { Db } from "../../store/tables.ts";
import {
  clock,
  openEmbedded,
  random,
  setAlarm,
  type Embedded,
  type EmbeddedOptions,
} from "./embedded.ts";
import { explainStoreFault, warnOfOutages } from "./explain-store-fault.ts";
import { createLazyState, type LazyState } from "./lazy-state.ts";
import { describeLinkOrigin } from "../http/addresses.ts";
import { readDatabaseUrl } from "../data/secrets.ts";
import { watchClock } from "./watch-clock.ts";

/** Where API calls go: to a remote server, or to the embedded service in this process. */
export type Deployment = {
  readonly origin: string;
  readonly send: Send;
  /** Looks up a key without an API request. Returns undefined for a remote server. */
  readonly followKey: Service["followKey"];
  /**
   * Waypost's own state, such as plans and approvals. It is closed together with the deployment.
   */
  readonly state: LazyState;
  /** The embedded store and its API; undefined for a remote server. */
  readonly own:
    | (Embedded & {
        readonly http: AnswerHttp;
        readonly clicks: Clicks;
        readonly deferredVisits: DeferredVisits;
        readonly lendToken: Service["lendToken"];
      })
    | undefined;
  readonly close: () => Promise<void>;
};

/** With `mustExist`, a missing embedded store is an error, and an existing one is not changed. */
export type DeploymentOptions = EmbeddedOptions & {
  readonly config: Config;
  /**
   * Returns the origin of the embedded service's links. By default, it contains the configured
   * port.
   */
  readonly readLinkOrigin?: () => string;
  readonly report: (error: unknown) => string;
  /** Whether a read-only database is acceptable, for commands that only list. */
  readonly mayBeReadOnly?: boolean;
  readonly watchRequest?: WatchRequest | undefined;
  /** Logs a warning that the operator should act on. */
  readonly warn?: ((facts: object, message: string) => unknown) | undefined;
};

/** Requests to this host are handled in this process, so DNS never looks it up. */
const embeddedOrigin = "http://waypost.invalid";

export async function withDeployment<Result>(
  options: DeploymentOptions,
  work: (deployment: Deployment) => Promise<Result>,
): Promise<Result> {
  const deployment = await openDeployment(options);
  try {
    return await work(deployment);
  } finally {
    await deployment.close();
  }
}

export async function openDeployment(options: DeploymentOptions): Promise<Deployment> {
  const { base_url } = options.config;
  return base_url === undefined ? openOwn(options) : openRemote(base_url, options);
}

async function openOwn(options: DeploymentOptions): Promise<Deployment> {
  const { config, report, watchRequest, warn = () => {} } = options;
  const { readLinkOrigin = () => describeLinkOrigin(config, config.port) } = options;
  const embedded = await openEmbedded(config, options);
  const { store } = embedded;
  const closeAndThrow = async (error: unknown): Promise<never> => {
    await store.close();
    throw error;
  };
  await warnOfSharedOrigin(config, store.db, warn).catch(closeAndThrow);
  const { mustExist = false, mayBeReadOnly = false } = options;
  const isWatching = embedded.stateTables !== undefined && !mustExist && !mayBeReadOnly;
  const stopWatching = isWatching
    ? await watchDatabase(config, store, { warn, report }).catch(closeAndThrow)
    : () => {};
  // If the store does not respond, clicks and visits are kept in memory until it does.
  const writing = { store, setAlarm, report: warnOfOutages(report, warn) };
  const clicks = createClicks({ ...writing, clock });
  const deferredVisits = createDeferredVisits(writing);
  // Commands that only read do not count as a use of the key.
  const keyUses = mustExist ? undefined : createKeyUses({ store, clock, setAlarm });
  const state = createLazyState(config, { ...options, tables: embedded.stateTables });
  const service = createService({
    store,
    clock,
    random,
    setAlarm,
    report,
    readLinkOrigin,
    secondOrigin: config.second_origin,
    waitForClicks: clicks.flush,
    noteReported: clicks.noteReported,
    watchRequest,
    noteKeyUse: keyUses?.note,
  });
  return {
    origin: embeddedOrigin,
    send: sendEmbedded(service.answer),
    followKey: service.followKey,
    state,
    own: {
      ...embedded,
      http: answerOverHttp(service.answer, clock),
      clicks,
      deferredVisits,
      lendToken: service.lendToken,
    },
    close: async () => {
      await state.close();
      await clicks.close();
      await deferredVisits.close();
      await keyUses?.close();
      stopWatching();
      await store.close();
    },
  };
}

/**
 * Regularly compares this machine's clock with the database's. Throws if the database is read-only.
 */
async function watchDatabase(
  config: Config,
  { db }: Pick<Embedded["store"], "db">,
  options: Parameters<typeof watchClock>[1],
): Promise<() => void> {
  const fault = await findWriteFault(db);
  const place = describeDatabase(readDatabaseUrl(config) ?? "");
  if (fault !== undefined) throw new StoreUnusable(`${place} ${fault}`);
  // The query uses no table, so the cast is safe.
  return watchClock(db as unknown as Kysely<unknown>, options);
}

/** Warns if several projects share one link host, because only the oldest project's links open. */
async function warnOfSharedOrigin(
  { link_origin }: Config,
  db: Db,
  warn: NonNullable<DeploymentOptions["warn"]>,
): Promise<void> {
  if (link_origin === undefined || hasSubdomains(link_origin)) return;
  const count = await countProjects(db);
  if (count < 2) return;
  warn(
    { projects: count, link_origin },
    "WAYPOST_LINK_ORIGIN has no {subdomain}, so only the oldest project's links open. For all " +
      "projects, use an origin such as https://{subdomain}.links.example.com.",
  );
}

function openRemote(origin: string, options: DeploymentOptions): Deployment {
  const { send, close } = openRemoteSender();
  const state = createLazyState(options.config, options);
  return {
    origin,
    send,
    followKey: () => () => Promise.resolve(undefined),
    state,
    own: undefined,
    close: async () => {
      await state.close();
      await close();
    },
  };
}

type OwnCaller = { readonly key: string; readonly known: KnownKey };

/** Identifies callers by the embedded service's API keys. */
export function identifyOwn({ followKey }: Pick<Deployment, "followKey">) {
  return async (token: string): Promise<OwnCaller | undefined> => {
    const known = await followKey(token)().catch(refuseForNow);
    return known && { key: token, known };
  };
}

/** The store contains the keys. If it does not respond, the error asks the caller to retry. */
function refuseForNow(error: unknown): never {
  throw explainStoreFault(error) ?? error;
}
