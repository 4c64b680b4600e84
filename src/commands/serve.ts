import { describeAddresses, listHostnames, type Addresses } from "../app/http/addresses.ts";
import { createReadiness } from "../app/http/answer-probes.ts";
import { createTlsAsk } from "../app/http/answer-tls-ask.ts";
import {
  chooseTools,
  createAssistant,
  readKnownKey,
  type Assistant,
} from "../app/process/assistant.ts";
import { createConsolePages } from "../app/console/console.ts";
import { tryConsoleAddress } from "../app/console/address.ts";
import { identifyOwn, type Deployment } from "../app/process/deployment.ts";
import { clock, random, setAlarm } from "../app/process/embedded.ts";
import {
  closeHttpServer,
  createHttpServer,
  setRequestHandlers,
  type AnswerProcess,
  type HttpServer,
} from "../app/http/http-server.ts";
import { tellOutages } from "../app/process/explain-store-fault.ts";
import { openFindCountry } from "../app/http/find-country.ts";
import { findOnlyProject } from "../app/process/find-project.ts";
import { findOwnerKey } from "../app/data/first-start.ts";
import { openGatewayToken } from "../app/process/gateway-token.ts";
import { createLazyState } from "../app/process/lazy-state.ts";
import {
  createAnswerProcess,
  noteServedPlace,
  type Statement,
} from "../app/listening/ask-listener.ts";
import { claimPort } from "../app/listening/serve-port.ts";
import { createLog, createReport, type Log } from "../app/process/log.ts";
import { openMetrics, readSources, type OpenMetrics } from "../app/process/open-metrics.ts";
import { readApiKey } from "../app/data/secrets.ts";
import { createProxyWatch } from "../app/http/watch-proxies.ts";
import { watchHost, watchMcp, watchWork, type Watches } from "../app/process/watch-work.ts";
import { openDeliverer } from "../app/process/webhooks.ts";
import { withDeployment } from "../app/process/with-deployment.ts";
import type { Config } from "../config.ts";
import { createHost, type LinkHost, type HostOptions } from "../host/host.ts";
import { approvalPath, type PageOptions } from "../mcp/approval/approval-page.ts";
import { previewPath } from "../mcp/previews/preview-pages.ts";
import type { Toolbox } from "../mcp/tools/toolbox.ts";
import { createMcpHttp, type McpHttp } from "../mcp/transport/http.ts";
import type { IdentifiedCaller } from "../mcp/transport/key-connections.ts";
import { isSameSecret } from "../text/same-secret.ts";
import type { Deliverer } from "../webhooks/deliverer.ts";
import { announce, writeAnnouncement } from "./serving/announcement.ts";
import { claimStdout, openScreen } from "./terminal/output.ts";

/** What runs when a stop is asked for may end within this time: a container is killed after ten. */
const finish_ms = 8000;

type ServeOptions = {
  readonly config: Config;
  readonly version: string;
  readonly json: boolean;
  /** What the person types to start another command. */
  readonly command: string;
  /** What shows an address that signs in at the console. */
  readonly consoleCommand: string;
  /** What Node is started with, from any folder. */
  readonly program: string;
  /** Resolves when the process is asked to stop. */
  readonly stopped: Promise<unknown>;
};

/** Serves until it is asked to stop, then finishes what runs. Answers the exit code. */
export async function serve(options: ServeOptions): Promise<number> {
  const { config } = options;
  claimStdout();
  const log = createLog(config);
  const toolbox = chooseTools(config);
  const metrics = await openMetrics(config);
  const findCountry = await openFindCountry({ config, clock, warn: log.warn });
  const server = createHttpServer();
  // The port comes first: a start that fails for it must not have been the first start.
  const port = await claimPort(server, config);
  const addresses = describeAddresses(config, port);
  const report = createReport(log);
  try {
    const readLinkOrigin = () => addresses.links ?? "";
    const watches = watchWork(log, config, metrics);
    const { warn } = log;
    const parts = { ...options, log, warn, ...watches, readLinkOrigin, report, findCountry };
    await withDeployment(parts, (deployment) =>
      serveDeployment(server, { ...parts, toolbox, port, addresses, metrics, deployment }),
    );
    return 0;
  } finally {
    server.close();
    for (const twin of server.twins) twin.close();
    // Where the start failed, clients that were told to come back are not waited for.
    server.closeAllConnections();
  }
}

type Serving = ServeOptions &
  Watches & {
    readonly log: Log;
    readonly toolbox: Toolbox;
    readonly port: number;
    readonly addresses: Addresses;
    readonly report: (error: unknown) => string;
    readonly metrics: OpenMetrics | undefined;
    readonly findCountry: HostOptions["findCountry"];
    readonly deployment: Deployment;
  };

async function serveDeployment(server: HttpServer, serving: Serving): Promise<void> {
  const { config, addresses, log, report, metrics, deployment } = serving;
  const { own } = deployment;
  const state = createLazyState(config, { tables: own?.stateTables });
  const openPage = (id: string) => Promise.resolve(addresses.url + approvalPath + id);
  const { url, links } = addresses;
  const listening = { url, links, isTemporary: false };
  const readListening = () => Promise.resolve(listening);
  const proxies = createProxyWatch(config.trusted_proxies, clock);
  const readServedBy = () => ({ kind: "serve", hasMetProxy: proxies.hasMet() }) as const;
  const assistant = createAssistant({ ...serving, state, openPage, readListening });
  await assistant.loadUnfinished();
  // Before anybody is served: where the store is away now, the start fails, and nothing else.
  const known = own && {
    ...own,
    ownerKey: await findOwnerKey(own),
    project: await findOnlyProject(own.store.db),
  };
  const hostnames = listHostnames(config, addresses);
  const identify = await createIdentify(config, deployment);
  const mcp = createMcpHttp({
    ...serving,
    ...assistant,
    hostnames,
    clock,
    setAlarm,
    identify,
    onError: (error) => log.debug({ error: String(error) }, "protocol error"),
  });
  const parts = { ...serving, state, assistant, hostnames, readServedBy };
  const approvals = await assistant.openPages({ hostnames, ...noteAnswers(log, "approval page") });
  const readiness = createReadiness(own === undefined ? [state] : [own.store, state], setAlarm);
  const host = own && openHost(own, serving);
  const deliverer = own && openDeliverer(own.store, { config, state, report });
  setRequestHandlers(server, {
    api: own?.http,
    mcp: watchMcp(mcp, serving.watchMcp),
    console: createConsolePages({ ...parts, ...noteAnswers(log, "console"), identify }),
    pages: {
      [approvalPath]: approvals.fetch,
      [previewPath]: assistant.openPreviewPages(hostnames).fetch,
    },
    links: host && watchHost(host, serving.watchVisit),
    hostnames,
    readUnready: readiness.readUnready,
    answerScrape: metrics?.createAnswers(
      () => readSources({ own, state, assistant, connections: mcp.measure(), deliverer }),
      report,
    ),
    answerTlsAsk: createTlsAsk({ host, publicUrl: config.public_url, report }),
    trustedProxies: config.trusted_proxies,
    lookAtFirst: proxies.look,
    answerProcess: own && prepareAnswers(serving, () => ({ ...listening, ...readServedBy() })),
  });
  own?.store.watchChores(clock, report);
  deliverer?.watch();
  const isSeen = openScreen().isTTY;
  const signIn = isSeen ? await tryConsoleAddress(serving, state, url) : undefined;
  announce(writeAnnouncement({ ...serving, own: known, signIn }));
  assistant.resumeRecent();
  await serving.stopped;
  readiness.stop();
  await finish(server, assistant, { mcp, deliverer });
}

/**
 * Lets other processes of the folder find this one. Undefined if the folder cannot be read or
 * written; links are served anyway.
 */
function prepareAnswers(
  { config: { data, host }, port, report }: Serving,
  readStatement: () => Statement,
): AnswerProcess | undefined {
  try {
    const answerProcess = createAnswerProcess({ data, port, readStatement });
    noteServedPlace(data, { host, port });
    return answerProcess;
  } catch (error) {
    report(error);
    return undefined;
  }
}

function openHost(
  own: NonNullable<Deployment["own"]>,
  { addresses, config, report, log, findCountry }: Serving,
): LinkHost {
  return createHost({
    ...own,
    linkOrigin: addresses.links ?? "",
    secondOrigin: config.second_origin,
    trustedProxies: config.trusted_proxies,
    findCountry,
    clock,
    random,
    report: tellOutages(report, log.warn),
  });
}

type Ending = {
  readonly mcp: McpHttp;
  readonly deliverer: Deliverer | undefined;
};

async function finish(
  server: HttpServer,
  assistant: Assistant,
  { mcp, deliverer }: Ending,
): Promise<void> {
  const endsAt = clock.monotonic() + finish_ms;
  assistant.stop();
  // A client that listens to the server's notifications never ends its request by itself.
  mcp.endListening();
  const closed = closeHttpServer(server, { besides: deliverer?.close(), most_ms: finish_ms });
  await closed;
  // Until then calls may have come over connections that were still open.
  await mcp.close();
  await assistant.close(Math.max(0, endsAt - clock.monotonic()));
}

/** Where a person answers from is noted for the operator; the page's own address is a secret. */
function noteAnswers(log: Log, page: string): Pick<PageOptions, "onDecided" | "onRefused"> {
  return {
    onDecided: (_, decision, address) => log.info({ address, decision }, `${page} answered`),
    onRefused: (reason, address) => log.info({ address, reason }, `${page} refused an answer`),
  };
}

/**
 * Here a caller's token is an API key of ours. In front of a deployment elsewhere it is the
 * gateway's own, and the operator's key makes the calls: no caller ever sees it.
 */
async function createIdentify(
  config: Config,
  deployment: Deployment,
): Promise<(token: string) => Promise<IdentifiedCaller | undefined>> {
  if (deployment.own !== undefined) return identifyOwn(deployment);
  const expected = openGatewayToken(config);
  const key = readApiKey(config);
  const known = await readKnownKey(config, deployment, key);
  return (token) => Promise.resolve(isSameSecret(token, expected) ? { key, known } : undefined);
}
