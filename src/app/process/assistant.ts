import { setMaxListeners } from "node:events";
import type { FindOwner } from "../../bulk/apply/job-runner.ts";
import { createBulk, type Bulk } from "../../bulk/bulk.ts";
import { UsageFault, type Config } from "../../config.ts";
import type { KnownKey } from "../../contract/access.ts";
import type { RequestSource } from "../../contract/api-message.ts";
import { messages } from "../../contract/messages.ts";
import type { WatchCall } from "../../contract/watch.ts";
import {
  createKeyContext,
  noListeners,
  printKey,
  type KeyContext,
  type SaveFile,
  type VisibleListeners,
} from "../../mcp/access/key-context.ts";
import type { AccessStorage } from "../../mcp/access/remote-access.ts";
import {
  createPreviews,
  createPreviewPages,
  type PreviewPages,
} from "../../mcp/previews/preview-pages.ts";
import {
  approvalPath,
  createApprovalPages,
  type ApprovalPages,
  type PageOptions,
} from "../../mcp/approval/approval-page.ts";
import { createApproveOverwrite } from "../../mcp/approval/approve-overwrite.ts";
import { createAwaitDecision, type AwaitDecision } from "../../mcp/approval/await-decision.ts";
import {
  countDecisions,
  createRequireApproval,
  type Decisions,
} from "../../mcp/approval/require-approval.ts";
import { createClientMemory } from "../../mcp/protocol/hidden-questions.ts";
import { createServer, type CallListener } from "../../mcp/protocol/server.ts";
import { once } from "../../contract/waiting.ts";
import { summarizePlan } from "../../mcp/tools/bulk/summarize-plan.ts";
import { createToolbox, UnknownTool, type Toolbox } from "../../mcp/tools/toolbox.ts";
import { createFastCalls, type FastCalls } from "../../mcp/transport/fast-path/fast-calls.ts";
import { isUnusable } from "../../sql/faults.ts";
import { isClientToken } from "../../text/secrets.ts";
import { readRequestId } from "../../text/request-id.ts";
import { readApiKey } from "../data/secrets.ts";
import type { Deployment } from "./deployment.ts";
import { clock, random } from "./embedded.ts";
import { explainStoreFault } from "./explain-store-fault.ts";
import { openClient, sleep } from "./open-client.ts";
import { checkPin, openOwnPin } from "../data/pin-file.ts";
import { openPublicFiles } from "./public-files.ts";
import { readTimeZone } from "./time-zone.ts";

/** Assembles what MCP over stdio and over HTTP share: tools, approvals, plans and jobs. */

/** The key of a call, what is known about the key, and whether the console sent the call. */
export type Caller = {
  readonly key: string | undefined;
  readonly known: KnownKey;
  readonly via?: RequestSource | undefined;
};

/** The parts that MCP over stdio and MCP over HTTP share, such as tools and approvals. */
export type Assistant = {
  readonly createKeyContext: (caller: Caller, listeners: VisibleListeners) => KeyContext;
  readonly createServer: (
    keyContext: KeyContext,
    onCall?: CallListener,
  ) => ReturnType<typeof createServer>;
  readonly createFastCalls: (keyContext: KeyContext) => FastCalls;
  readonly openPages: (
    options: Pick<PageOptions, "hostnames" | "onDecided" | "onRefused">,
  ) => Promise<ApprovalPages>;
  /** Creates the handler of the preview pages, which show results of `preview_template`. */
  readonly openPreviewPages: (hostnames: readonly string[]) => PreviewPages;
  /** Finds the jobs that earlier processes left unfinished, before the first client connects. */
  readonly loadUnfinished: () => Promise<void>;
  /** Resumes jobs whose process ended recently. */
  readonly resumeRecent: () => void;
  readonly measure: () => {
    readonly jobs: ReturnType<Bulk["measure"]>;
    readonly decisions: Decisions;
  };
  /**
   * Stops running jobs, and stops waiting for approvals. Another process can then resume the jobs.
   */
  readonly stop: () => void;
  /** Waits, for a limited time, until jobs have finished writing their current rows. */
  readonly close: (most_ms?: number) => Promise<void>;
};

type LogError = (error: unknown) => string;

type AssistantOptions = {
  readonly config: Config;
  readonly toolbox: Toolbox;
  readonly deployment: Deployment;
  readonly version: string;
  readonly readListening: KeyContext["readListening"];
  /** Opens an approval's page if no process listens, and returns the page's URL. */
  readonly openPage?: (id: string) => Promise<string>;
  /** Set only for a client on this machine. */
  readonly saveFile?: SaveFile;
  readonly describeAddresses?: () => string | undefined;
  readonly report: LogError;
  readonly watchCall?: WatchCall | undefined;
  /** Whether the data must exist already and must not change. */
  readonly mustExist?: boolean;
};

export function createAssistant(options: AssistantOptions): Assistant {
  const { config, toolbox, deployment, version, report, watchCall } = options;
  const { state } = deployment;
  const openState = state.open;
  const openPreviews = async () => createPreviews((await openState()).kept);
  const readPin = once(() => openOwnPin(config));
  const { measure, endWaiting, ...asking } = prepareAsking(options, readPin);
  const serving = { toolbox, ...asking, version, report, watchCall };
  const life = new AbortController();
  // Node warns about more than ten listeners, and more than ten calls may run at once.
  setMaxListeners(0, life.signal);
  const bulk = createBulk({ openState, clock, random, sleep, report });
  const createContext = prepareContexts(options, life.signal, bulk);
  return {
    createKeyContext: createContext,
    createServer: (keyContext, onCall) => createServer({ ...serving, keyContext }, onCall),
    createFastCalls: (keyContext) => createFastCalls({ ...serving, keyContext }),
    openPages: async (wanted) => {
      // If the PIN is unreadable, fail at start-up instead of at the first approval.
      await readPin();
      return createApprovalPages({ ...wanted, openState, checkPin, clock, report });
    },
    openPreviewPages: (hostnames) => createPreviewPages({ openPreviews, hostnames, report }),
    loadUnfinished: async () => {
      if (!state.exists()) return;
      await bulk.loadUnfinished().catch((error: unknown) => {
        // If the state is unusable, fail at start-up, because changes would go unrecorded.
        if (isUnusable(error)) throw error;
        // Log other errors and continue, because the server works without old jobs.
        report(error);
      });
    },
    resumeRecent: () => {
      // Without the state's file there are no jobs, and searching for jobs must not create the
      // file.
      if (state.exists()) bulk.resumeRecent(createFindOwner(options, bulk, createContext));
    },
    measure: () => ({ jobs: bulk.measure(), decisions: measure() }),
    stop: () => {
      endWaiting();
      bulk.stop();
    },
    close: async (most_ms) => {
      await bulk.close(most_ms);
      life.abort();
    },
  };
}

/**
 * Returns a function that creates a key's context, including its client. Aborting `life` ends all
 * calls.
 */
function prepareContexts(
  options: AssistantOptions,
  life: AbortSignal,
  bulk: Bulk,
): Assistant["createKeyContext"] {
  const { config, toolbox, deployment, report, mustExist = false } = options;
  const { own, state } = deployment;
  const { scopes, destinations } = config;
  const openState = state.open;
  const timeZone = readTimeZone(config);
  const hasMemory = own === undefined && (!mustExist || state.exists());
  const openMemory = async (): Promise<AccessStorage> => {
    const { kept } = await openState();
    return mustExist ? { find: kept.find, save: () => Promise.resolve() } : kept;
  };
  return ({ key, known, via }, listeners) =>
    createKeyContext({
      client: openClient(deployment, { key, via, life, openState, report }),
      bulk,
      origin: deployment.origin,
      checksConditions: own !== undefined,
      openHistory: async () => (await openState()).history,
      openPreviews: async () => createPreviews((await openState()).kept),
      saveFile: options.saveFile,
      key,
      scopes,
      destinations,
      publicFiles: openPublicFiles(openState),
      known,
      isOffered: ({ tool }) => toolbox.find(tool) !== undefined,
      isActAllowed: toolbox.isActAllowed,
      readListening: options.readListening,
      describeAddresses: options.describeAddresses,
      lookUp: createLookUp(deployment, key, report),
      probe: config.probe,
      // Remembers detected permissions only for remote servers. The embedded service looks them up.
      openMemory: hasMemory && key !== undefined ? openMemory : undefined,
      timeZone,
      clock,
      sleep,
      report: (error) => life.aborted || report(error),
      ...listeners,
    });
}

/** Sets up approval requests and the record kept of each one. */
function prepareAsking(
  { config: { mode }, deployment, readListening, openPage = refuse }: AssistantOptions,
  readPin: () => Promise<string | undefined>,
) {
  const stopping = new AbortController();
  const openState = deployment.state.open;
  const awaitDecision = createAwaitDecision({ openState, clock, sleep });
  const asked = createRequireApproval({
    mode,
    readPin,
    openState,
    openPage: async (id) => {
      const listening = await readListening();
      return listening === undefined ? openPage(id) : listening.url + approvalPath + id;
    },
  });
  return {
    ...countDecisions(asked, mode),
    approveOverwrite: createApproveOverwrite({ mode, openState }),
    // When this process stops, the wait ends like a timeout. A later call can read the decision.
    awaitDecision: endWhen(awaitDecision, stopping.signal),
    endWaiting: () => stopping.abort(),
    clients: createClientMemory({ clock, openState }),
    clock,
  };
}

function endWhen(awaitDecision: AwaitDecision, stopping: AbortSignal): AwaitDecision {
  return (id, wait) =>
    awaitDecision(id, { ...wait, signal: AbortSignal.any([wait.signal, stopping]) });
}

/**
 * Returns a function that looks up what is known about the key. If the store cannot be read, the
 * function returns undefined, and the call itself fails later.
 */
function createLookUp(
  { followKey, own }: Deployment,
  key: string | undefined,
  report: LogError,
): () => Promise<KnownKey | undefined> {
  if (key === undefined) return () => Promise.resolve(undefined);
  const look = followKey(key);
  return async () => {
    try {
      return (await look()) ?? describeRefused(own, key);
    } catch (error) {
      // Outages are not reported here, because the call itself fails and reports them.
      if (explainStoreFault(error) === undefined) report(error);
      return undefined;
    }
  };
}

type InspectOptions = Pick<AssistantOptions, "config" | "version" | "deployment" | "mustExist"> & {
  readonly key: string | undefined;
};

/** Finds the tools that an assistant would see, for commands that only list them. */
export async function inspectTools({ key, ...options }: InspectOptions) {
  const { config, deployment } = options;
  const toolbox = chooseTools(config);
  const assistant = createAssistant({
    ...options,
    toolbox,
    readListening: () => Promise.resolve(undefined),
    report: String,
  });
  const known = await readKnownKey(config, deployment, key);
  const keyContext = assistant.createKeyContext({ key, known }, noListeners);
  // Checks the current permissions, because the remembered ones may be outdated.
  await keyContext.explore(0);
  await assistant.close();
  return { toolbox, keyContext };
}

/** Never called: commands that list tools need no approval, and `serve` shows the pages itself. */
function refuse(): never {
  throw new Error("nothing listens here");
}

/** Returns what is known about the configured key, or about the key that a caller sent. */
export async function readKnownKey(
  { base_url, link_origin }: Pick<Config, "base_url" | "link_origin">,
  { followKey, own }: Pick<Deployment, "followKey"> & Partial<Pick<Deployment, "own">>,
  key: string | undefined,
): Promise<KnownKey> {
  const known =
    key === undefined ? undefined : ((await followKey(key)()) ?? describeRefused(own, key));
  // A remote server does not report its link host, so the operator may set it.
  const linkHost = base_url === undefined ? undefined : link_origin;
  return known ?? { facts: undefined, linkHost, hasSecondHost: false };
}

/** Selects the tools. Runs first, so an invalid selection fails before anything is created. */
export function chooseTools({ mode, tools: selection }: Config): Toolbox {
  try {
    return createToolbox({ mode, selection });
  } catch (error) {
    if (!(error instanceof UnknownTool)) throw error;
    throw new UsageFault(`--tools (WAYPOST_TOOLS): ${error.message}`, { cause: error });
  }
}

const invalidKey: KnownKey = {
  facts: undefined,
  refusal: messages.key_invalid,
  linkHost: undefined,
  hasSecondHost: false,
};
const clientKey: KnownKey = { ...invalidKey, refusal: messages.client_key_here };

/** Describes a key that the embedded service does not know. Remote servers check their own keys. */
function describeRefused(own: Deployment["own"] | undefined, key: string): KnownKey | undefined {
  if (own === undefined) return undefined;
  return isClientToken(key) ? clientKey : invalidKey;
}

/**
 * Finds the owner of a job that an earlier process started, including a key to resume the job with.
 * For a remote server, this is the configured key. For the embedded service, it is a temporary
 * token for the key's ID, and each call checks the key's current permissions.
 */
function createFindOwner(
  { config, deployment, toolbox }: AssistantOptions,
  bulk: Bulk,
  createContext: Assistant["createKeyContext"],
): FindOwner {
  const { origin, own } = deployment;
  return async (plan, job, key_id) => {
    if (plan.origin !== origin) return undefined;
    const key = own === undefined ? readApiKey(config) : own.lendToken(key_id);
    // The operator may have configured another key since the job started.
    const isOther = own === undefined && printKey(key) !== job.key_print;
    if (key === undefined || isOther) return undefined;
    const known = await readKnownKey(config, deployment, key);
    const { access, call } = createContext({ key, known }, noListeners);
    // The ID of the request that applied the plan was not saved, so a new one is generated.
    const requestId = readRequestId(undefined);
    const owner = { key_print: job.key_print, key_id, origin, call, requestId };
    // If the key no longer exists, resume the job anyway. It then fails and reports the missing
    // key.
    if (own !== undefined && known.facts === undefined) return owner;
    const summary = await summarizePlan(bulk, plan, owner, { job });
    return toolbox.mayApply(summary, access) ? owner : undefined;
  };
}
