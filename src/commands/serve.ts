import { join, resolve } from "node:path";
import { createBrowserHandlers } from "../app/console/browser-handlers.ts";
import { tryConsoleAddress } from "../app/console/address.ts";
import { databaseFile, findHttpTokenFile, hasDatabase } from "../app/data/data-folder.ts";
import { explainOwnerKey, findOwnerKey, type OwnerKey } from "../app/data/first-start.ts";
import { readApiKey, readDatabaseUrl } from "../app/data/secrets.ts";
import { describeAddresses, isOpenToOthers, listHostnames } from "../app/http/addresses.ts";
import { createReadiness } from "../app/http/answer-probes.ts";
import { createTlsAsk } from "../app/http/answer-tls-ask.ts";
import { openFindCountry } from "../app/http/find-country.ts";
import {
  closeHttpServer,
  createHttpServer,
  endHttpServer,
  setRequestHandlers,
} from "../app/http/http-server.ts";
import { createProxyWatch } from "../app/http/watch-proxies.ts";
import {
  claimPort,
  createAnswerProcess,
  noteServedAddress,
  type Statement,
} from "../app/listening/ask-listener.ts";
import { chooseTools, createAssistant, readKnownKey } from "../app/process/assistant.ts";
import { identifyOwn, withDeployment, type Deployment } from "../app/process/deployment.ts";
import { clock, setAlarm } from "../app/process/embedded.ts";
import { openGatewayToken } from "../app/process/gateway-token.ts";
import { createLog, createReport, type Log } from "../app/process/log.ts";
import { openMetrics } from "../app/process/open-metrics.ts";
import { watchWork } from "../app/process/watch-work.ts";
import { findOnlyProject } from "../app/process/with-operator.ts";
import { openDeliverer } from "../app/process/webhooks.ts";
import type { Config } from "../config.ts";
import { fillSubdomain, hasSubdomains } from "../contract/rules/link-address.ts";
import type { PageOptions } from "../mcp/approval/approval-page.ts";
import { createMcpHttp } from "../mcp/transport/http.ts";
import { describeDatabase } from "../network/database-url.ts";
import { quoteWord } from "../text/escape.ts";
import { isSameSecret } from "../text/secrets.ts";
import { nameCommand, nameMakeKey, writeCommand } from "./terminal/command-name.ts";
import type { Command, Invocation } from "./terminal/command.ts";
import { claimStdout, openScreen, print, say } from "./terminal/output.ts";

/** `waypost serve` serves the API, MCP, the console and links over HTTP until it is stopped. */

/** How long requests may take after a stop signal. Containers are killed after ten seconds. */
const finish_ms = 8000;

const serveFlags = { "--json": "print one line of JSON when it is ready" };

export const serve: Command<typeof serveFlags> = {
  usages: {
    serve: [
      "serve links on their own hosts, MCP at `/mcp`, the REST API at `/api/v1`, `/healthz` " +
        "and `/readyz`, approval pages, and the console for a browser",
      run,
    ],
  },
  flags: serveFlags,
};

async function run(invocation: Invocation<typeof serveFlags>): Promise<void> {
  claimStdout();
  const parts = await openParts(invocation);
  try {
    await withDeployment(parts, (deployment) => serveDeployment(deployment, parts));
  } finally {
    endHttpServer(parts.server);
  }
}

type ServeParts = Awaited<ReturnType<typeof openParts>>;

async function openParts({ config, flags, runtime }: Invocation<typeof serveFlags>) {
  const stopped = runtime.waitForStop();
  const command = nameCommand(runtime.program);
  const log = createLog(config);
  const toolbox = chooseTools(config);
  const metrics = await openMetrics(config);
  const findCountry = await openFindCountry({ config, clock, warn: log.warn });
  const server = createHttpServer();
  // The port is bound first, so that a failed start leaves no data behind.
  const port = await claimPort(server, config);
  const addresses = describeAddresses(config, port);
  return {
    ...watchWork(log, config, metrics),
    config,
    version: runtime.version,
    json: flags.json === true,
    command,
    consoleCommand: writeCommand(config, command, "console"),
    program: resolve(runtime.program),
    stopped,
    log,
    warn: log.warn,
    report: createReport(log),
    toolbox,
    metrics,
    findCountry,
    server,
    port,
    addresses,
    hostnames: listHostnames(config, addresses),
    readLinkOrigin: () => addresses.links ?? "",
  };
}

async function serveDeployment(deployment: Deployment, parts: ServeParts): Promise<void> {
  const { config, server, addresses, hostnames, log, report, metrics } = parts;
  const { own, state } = deployment;
  const { url, links } = addresses;
  const listening = { url, links, isTemporary: false };
  const readListening = () => Promise.resolve(listening);
  const assistant = createAssistant({ ...parts, deployment, readListening });
  await assistant.loadUnfinished();
  // Reads from the database before serving, so that start-up fails if the database is down.
  const known = own && {
    ...own,
    ownerKey: await findOwnerKey(own),
    project: await findOnlyProject(own.store.db),
  };
  const identify = await createIdentify(config, deployment);
  const mcp = createMcpHttp({
    ...parts,
    ...assistant,
    clock,
    setAlarm,
    identify,
    onError: (error) => log.debug({ error: String(error) }, "protocol error"),
  });
  const deliverer = own && openDeliverer(own.store, { config, state, report });
  const readiness = createReadiness(own === undefined ? [state] : [own.store, state], setAlarm);
  const proxies = createProxyWatch(config.trusted_proxies, clock);
  const describeListener = () => ({ kind: "serve", hasMetProxy: proxies.hasMet() }) as const;
  const inBrowser = createBrowserHandlers({
    ...parts,
    ...noteAnswers(log, "console"),
    deployment,
    assistant,
    approvals: await assistant.openPages({ hostnames, ...noteAnswers(log, "approval page") }),
    identify,
    describeListener,
    trustedProxies: config.trusted_proxies,
  });
  setRequestHandlers(server, {
    ...inBrowser,
    api: own?.http,
    mcp,
    watchMcp: parts.watchMcp,
    readUnready: readiness.readUnready,
    answerScrape: metrics?.createAnswers({ deployment, assistant, mcp, deliverer, report }),
    answerTlsAsk: createTlsAsk({ host: inBrowser.links, publicUrl: config.public_url, report }),
    lookAtFirst: proxies.look,
    answerProcess: own && prepareAnswers(parts, () => ({ ...listening, ...describeListener() })),
  });
  own?.store.watchTasks(clock, report);
  deliverer?.watch();
  const signIn = openScreen().isTTY ? await tryConsoleAddress(parts, state, url) : undefined;
  announce(parts, known, signIn);
  assistant.resumeRecent();
  await parts.stopped;
  readiness.stop();
  const endsAt = clock.monotonic() + finish_ms;
  assistant.stop();
  // A client that listens for notifications never ends its request on its own.
  mcp.endListening();
  await closeHttpServer(server, { otherWork: deliverer?.close(), most_ms: finish_ms });
  // Until the server has closed, open connections can still make MCP calls.
  await mcp.close();
  await assistant.close(Math.max(0, endsAt - clock.monotonic()));
}

/**
 * Returns a handler that lets other processes with the same data folder find this one. Returns
 * undefined if the folder is not readable or writable. Links are served even then.
 */
function prepareAnswers({ config, port, report }: ServeParts, readStatement: () => Statement) {
  const { data, host } = config;
  try {
    const answerProcess = createAnswerProcess({ data, port }, readStatement);
    noteServedAddress(data, { host, port });
    return answerProcess;
  } catch (error) {
    report(error);
    return undefined;
  }
}

/** Logs the IP address of users who approve or reject, but not the page's URL, which is secret. */
function noteAnswers(log: Log, page: string): Pick<PageOptions, "onDecided" | "onRefused"> {
  return {
    onDecided: (_, decision, address) => log.info({ address, decision }, `${page} answered`),
    onRefused: (reason, address) => log.info({ address, reason }, `${page} refused an answer`),
  };
}

/**
 * Callers of the embedded service send an API key. Callers of a gateway send the gateway's token.
 * The gateway then uses the operator's key, which callers never see.
 */
async function createIdentify(config: Config, deployment: Deployment) {
  if (deployment.own !== undefined) return identifyOwn(deployment);
  const expected = openGatewayToken(config);
  const key = readApiKey(config);
  const known = await readKnownKey(config, deployment, key);
  return (token: string) =>
    Promise.resolve(isSameSecret(token, expected) ? { key, known } : undefined);
}

type OwnServerFacts = {
  readonly isFirstStart: boolean;
  readonly ownerKey: OwnerKey;
  readonly project: { readonly subdomain: string } | undefined;
};

function announce(parts: ServeParts, own: OwnServerFacts | undefined, signIn?: string): void {
  const { config, addresses, json } = parts;
  const { files, lines } = own === undefined ? describeGateway(parts) : describeOwn(parts, own);
  if (json) print(JSON.stringify({ ...addresses, ...files }));
  for (const line of lines) say(line);
  if (signIn !== undefined) say(`Console (signs you in once, within ten minutes): ${signIn}`);
  if (!isOpenToOthers(config)) return;
  say(
    `Waypost listens on ${config.host}, where keys and approvals travel unencrypted. Put a ` +
      "proxy with TLS in front of it, and set --public-url https://…",
  );
}

function describeOwn(
  { config, addresses: { api, mcp, links }, command }: ServeParts,
  { isFirstStart, ownerKey, project }: OwnServerFacts,
) {
  const makeKey = nameMakeKey(config, command);
  const { file, state } = ownerKey;
  const files = { key_file: state === "opens" ? file : null };
  const host = links && describeLinkHost(links, project);
  const place = describeDatabasePlace(config);
  if (!isFirstStart) {
    const key = explainOwnerKey(ownerKey, makeKey);
    const line = `Links open at ${host}. The API is at ${api}, MCP at ${mcp} (${key}).`;
    return { files, lines: [`${line} Ctrl-C stops Waypost.`, ...place] };
  }
  // The command pipes the header to curl, because other processes can see a command's arguments.
  const header = `printf 'Authorization: Token %s' "$(cat ${quoteWord(file)})"`;
  const link = JSON.stringify({ path: "first", url: "https://example.com" });
  const body = `-H 'Content-Type: application/json' -d '${link}'`;
  const lines = [
    `Your links open at ${host}.`,
    `Assistants connect over MCP to ${mcp}, with the key in ${file}.`,
    `Create your first link, ${host}/first: ${header} | curl -H @- ${api}/links ${body}`,
    `More keys: ${makeKey}. All commands: ${command} --help.`,
    ...place,
  ];
  return { files, lines };
}

function describeLinkHost(links: string, project: OwnServerFacts["project"]): string {
  if (project) return fillSubdomain(links, project);
  if (hasSubdomains(links)) return `${links}, one host for each project`;
  return `${links}, only for the oldest project`;
}

function describeGateway({ config, addresses: { api, mcp } }: ServeParts) {
  const { http_token, http_token_file } = config.secrets;
  const created = http_token === undefined ? findHttpTokenFile(config.data) : null;
  const token_file = http_token_file ?? created;
  const token =
    token_file === null ? "the token of WAYPOST_HTTP_TOKEN" : `the token in ${token_file}`;
  const line = `Waypost serves MCP at ${mcp} for ${api}; callers send ${token}.`;
  return { files: { key_file: null, token_file }, lines: [line] };
}

function describeDatabasePlace(config: Config): readonly string[] {
  const url = readDatabaseUrl(config);
  if (url === undefined) return [];
  const place = `The data is in the database ${describeDatabase(url)}.`;
  if (!hasDatabase(config.data)) return [place];
  const file = join(resolve(config.data), databaseFile);
  const advice = "To move or delete its data, see: waypost help backup-and-upgrade";
  return [`${place} ${file} is not used. ${advice}`];
}
