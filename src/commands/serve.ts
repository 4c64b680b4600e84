import { existsSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import {
  describeAddresses,
  isOpenToOthers,
  listHostnames,
  type Addresses,
} from "../compose/addresses.ts";
import { createReadiness } from "../compose/answer-probes.ts";
import { chooseTools, createAssistant, readKnownKey } from "../compose/assistant.ts";
import { findHttpTokenFile, prepareDataFolder } from "../compose/data-folder.ts";
import type { Deployment } from "../compose/deployment.ts";
import { clock, random, setAlarm } from "../compose/embedded.ts";
import {
  closeHttpServer,
  createHttpServer,
  setRequestHandlers,
  type HttpServer,
} from "../compose/http-server.ts";
import { createLazyState } from "../compose/lazy-state.ts";
import { claimPort, joinFolder } from "../compose/listening/serve-port.ts";
import { createLog, createReport, type Log } from "../compose/log.ts";
import { openMetrics, readSources, watchHost, type OpenMetrics } from "../compose/open-metrics.ts";
import { readApiKey, readHttpToken } from "../compose/secrets.ts";
import { withDeployment } from "../compose/with-deployment.ts";
import type { Config } from "../config.ts";
import { createHost } from "../host/host.ts";
import { approvalPath, type PageOptions } from "../mcp/approval/page.ts";
import { previewPath } from "../mcp/previews/preview-pages.ts";
import type { Toolbox } from "../mcp/tools/toolbox.ts";
import { createMcpHttp } from "../mcp/transport/http.ts";
import type { IdentifiedCaller } from "../mcp/transport/key-connections.ts";
import { createToken } from "../service/ids.ts";
import { isSameSecret } from "../text/same-secret.ts";
import { quoteWord } from "./terminal/command-name.ts";
import { claimStdout, print, say } from "./terminal/output.ts";

const heapFlags = [
  // Left to itself the heap grows to four times what is in use before it is cleared.
  "--heap-growing-percent=50",
  // By what a start makes, V8 guesses that what a request makes lives long, and puts it where it is
  // cleared seldom. It dies with its answer, and to clear it there cost a sixth of each request.
  "--no-allocation-site-pretenuring",
];
/** What runs when a stop is asked for may end within this time: a container is killed after ten. */
const finish_ms = 8000;

type ServeOptions = {
  readonly config: Config;
  readonly version: string;
  readonly json: boolean;
  /** What the person types to start another command. */
  readonly command: string;
  /** Resolves when the process is asked to stop. */
  readonly stopped: Promise<unknown>;
};

/** Serves until it is asked to stop, then finishes what runs. */
export async function serve(options: ServeOptions): Promise<void> {
  const { config } = options;
  claimStdout();
  for (const flag of heapFlags) setFlagsFromString(flag);
  const toolbox = chooseTools(config);
  const metrics = await openMetrics(config);
  const server = createHttpServer();
  // The port comes first: a start that fails for it must not have been the first start.
  const port = await claimPort(server, config);
  const addresses = describeAddresses(config, port);
  const log = createLog(config);
  const report = createReport(log);
  try {
    const readLinkOrigin = () => addresses.links ?? "";
    const parts = { ...options, ...metrics, readLinkOrigin, report };
    await withDeployment(parts, (deployment) =>
      serveDeployment(server, { ...parts, toolbox, port, addresses, log, metrics, deployment }),
    );
  } finally {
    server.close();
    // Where the start failed, clients that were told to come back are not waited for.
    server.closeAllConnections();
  }
}

type Serving = ServeOptions & {
  readonly toolbox: Toolbox;
  readonly port: number;
  readonly addresses: Addresses;
  readonly log: Log;
  readonly report: (error: unknown) => string;
  readonly metrics: OpenMetrics | undefined;
  readonly deployment: Deployment;
};

async function serveDeployment(server: HttpServer, serving: Serving): Promise<void> {
  const { config, addresses, log, report, metrics, deployment } = serving;
  const { own } = deployment;
  const state = createLazyState(config);
  const openPage = (id: string) => Promise.resolve(addresses.url + approvalPath + id);
  const { url, links } = addresses;
  const listening = { url, links, isTemporary: false };
  const readListening = () => Promise.resolve(listening);
  const assistant = createAssistant({ ...serving, state, openPage, readListening });
  await assistant.loadUnfinished();
  const hostnames = listHostnames(config, addresses);
  const mcp = createMcpHttp({
    ...serving,
    ...assistant,
    hostnames,
    clock,
    setAlarm,
    identify: await createIdentify(config, deployment),
    onError: (error) => log.debug({ error: String(error) }, "protocol error"),
  });
  const approvals = await assistant.openPages({ hostnames, ...noteAnswers(log) });
  const origins = { linkOrigin: addresses.links ?? "", secondOrigin: config.second_origin };
  const readiness = createReadiness(own === undefined ? [state] : [own.store, state], setAlarm);
  const folder = own && joinFolder({ ...serving, listening });
  setRequestHandlers(server, {
    api: own?.http,
    mcp,
    pages: {
      [approvalPath]: approvals.fetch,
      [previewPath]: assistant.openPreviewPages(hostnames).fetch,
    },
    links:
      own &&
      watchHost(createHost({ ...own, ...origins, clock, random, report }), metrics?.watchVisit),
    hostnames,
    readUnready: readiness.readUnready,
    answerScrape: metrics?.createAnswers(
      () => readSources({ own, state, assistant, connections: mcp.measure() }),
      report,
    ),
    trustedProxies: config.trusted_proxies,
    answerProcess: folder?.answer,
  });
  await folder?.announce();
  own?.store.watchChores(clock, report);
  announce(serving);
  if (isOpenToOthers(config)) {
    say(
      `Waypost listens on ${config.host}: keys and approvals travel unencrypted there. Put a ` +
        "proxy that ends TLS in front of it, and say so with --public-url https://…",
    );
  }
  await serving.stopped;
  readiness.stop();
  const endsAt = clock.monotonic() + finish_ms;
  assistant.handOver();
  // A client that listens to the server's notifications never ends its request by itself.
  const closed = closeHttpServer(server, { besides: mcp.close(finish_ms), most_ms: finish_ms });
  folder?.end();
  await closed;
  await assistant.close(Math.max(0, endsAt - clock.monotonic()));
}

/** Where a person answers from is noted for the operator; the page's own address is a secret. */
function noteAnswers(log: Log): Pick<PageOptions, "onDecided" | "onRefused"> {
  return {
    onDecided: (_, decision, address) => log.info({ address, decision }, "approval page answered"),
    onRefused: (reason, address) =>
      log.info({ address, reason }, "approval page refused an answer"),
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
  if (deployment.own !== undefined) {
    return async (token) => {
      const known = await deployment.followKey(token)();
      return known && { key: token, known };
    };
  }
  prepareDataFolder(config.data);
  const expected = readHttpToken(config, () => createToken(random));
  const key = readApiKey(config);
  const known = await readKnownKey(config, deployment, key);
  return (token) => Promise.resolve(isSameSecret(token, expected) ? { key, known } : undefined);
}

function announce(serving: Serving): void {
  const { config, addresses, deployment, json, command } = serving;
  const { own } = deployment;
  if (own === undefined) return announceGateway(config, addresses, json);
  const { keyFile, isFirstStart } = own;
  const { api, mcp, links } = addresses;
  const data = config.isDataNamed ? ` --data ${quoteWord(config.data)}` : "";
  const makeKey = `${command} keys create --project default${data}`;
  if (json) print(JSON.stringify({ ...addresses, key_file: keyFile }));
  if (!isFirstStart) {
    const key = existsSync(keyFile) ? `key: ${keyFile}` : `make a key with ${makeKey}`;
    say(`Waypost serves links at ${links}, ${api} and MCP at ${mcp} (${key}). Ctrl-C stops it.`);
    return;
  }
  // The header goes through a pipe: an argument would show the key to every other process.
  const header = `printf 'Authorization: Token %s' "$(cat ${quoteWord(keyFile)})"`;
  const body = `-H 'Content-Type: application/json' -d '{"url":"https://example.com"}'`;
  say(`Waypost serves your links at ${links?.replace("{subdomain}", "default")}.`);
  say(`Assistants: MCP at ${mcp}, with the key of your project "default" in ${keyFile}.`);
  say(`Make your first link: ${header} | curl -H @- ${api}/links ${body}`);
  say(`More keys: ${makeKey}. All commands: ${command} --help.`);
}

function announceGateway(config: Config, addresses: Addresses, json: boolean): void {
  const { http_token, http_token_file } = config.secrets;
  const made = http_token === undefined ? findHttpTokenFile(config.data) : null;
  const token_file = http_token_file ?? made;
  if (json) print(JSON.stringify({ ...addresses, key_file: null, token_file }));
  const token =
    token_file === null ? "the token of WAYPOST_HTTP_TOKEN" : `the token in ${token_file}`;
  say(`Waypost serves MCP at ${addresses.mcp} for ${addresses.api}; callers show ${token}.`);
}
