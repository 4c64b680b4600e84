import { existsSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { describeAddresses, listHostnames, type Addresses } from "../compose/addresses.ts";
import {
  chooseTools,
  createAssistant,
  learnKey,
  prepareState,
  type Assistant,
  type LazyState,
} from "../compose/assistant.ts";
import { findHttpTokenFile, prepareDataFolder } from "../compose/data-folder.ts";
import { openDeployment, type Deployment } from "../compose/deployment.ts";
import { clock, random } from "../compose/embedded.ts";
import { attachFront, createHttpServer } from "../compose/http-front.ts";
import { createLog, createReport, type Log } from "../compose/log.ts";
import { openPin } from "../compose/pin-file.ts";
import { readApiKey, readHttpToken } from "../compose/secrets.ts";
import { UsageFault, type Config } from "../config.ts";
import { createHost } from "../host/host.ts";
import { approvalPath, createApprovalPages } from "../mcp/approval/page.ts";
import type { Toolbox } from "../mcp/tools/toolbox.ts";
import { createMcpHttp, type McpHttp } from "../mcp/transport/http.ts";
import type { Caller } from "../mcp/transport/key-connections.ts";
import { createToken } from "../service/ids.ts";
import { isSameSecret } from "../text/same-secret.ts";
import { claimStdout, print, say } from "./terminal/output.ts";

/** What is still running when a stop is asked for may finish within this time. */
const patience_ms = 1500;
const sweepEvery_ms = 20;

export type ServeOptions = {
  readonly config: Config;
  readonly version: string;
  readonly json: boolean;
  /** Resolves when the process is asked to stop. */
  readonly stopped: Promise<unknown>;
};

/** Serves until it is asked to stop, then finishes what runs. */
export async function serve(options: ServeOptions): Promise<void> {
  const { config, version } = options;
  claimStdout();
  const toolbox = chooseTools(config);
  const server = createHttpServer();
  // The port comes first: a start that fails for it must not have been the first start.
  const addresses = describeAddresses(config, await listen(server, config));
  const log = createLog(config);
  const report = createReport(log);
  const serving: Serving = { config, version, toolbox, addresses, log, report };
  try {
    const linkOrigin = addresses.links ?? "";
    const deployment = await openDeployment({ config, linkOrigin, report });
    try {
      await run(server, serving, deployment, options);
    } finally {
      await deployment.close();
    }
  } finally {
    server.close();
    // Where the start failed, those who were told to wait are not waited for.
    server.closeAllConnections();
  }
}

type Serving = {
  readonly config: Config;
  readonly version: string;
  readonly toolbox: Toolbox;
  readonly addresses: Addresses;
  readonly log: Log;
  readonly report: (error: unknown) => string;
};

async function run(
  server: Server,
  serving: Serving,
  deployment: Deployment,
  { json, stopped }: ServeOptions,
): Promise<void> {
  const { addresses } = serving;
  const state = prepareState(serving.config);
  const openPage = (id: string) => Promise.resolve(addresses.url + approvalPath + id);
  const assistant = createAssistant({ ...serving, deployment, state, openPage });
  await assistant.recall();
  const mcp = await openMcp(serving, deployment, assistant);
  await attach(server, serving, deployment, { mcp, state });
  announce(serving, deployment, json);
  await stopped;
  await drain(server, mcp);
  await assistant.close();
}

async function openMcp(
  { config, toolbox, addresses, log, report }: Serving,
  deployment: Deployment,
  { createKeyContext, createServer }: Assistant,
): Promise<McpHttp> {
  return createMcpHttp({
    toolbox,
    identify: await createIdentify(config, deployment),
    createKeyContext,
    createServer,
    hostnames: listHostnames(config, addresses),
    clock,
    onError: (error) => log.debug({ error: String(error) }, "protocol error"),
    report,
  });
}

/**
 * Here a caller's token is an API key of ours. In front of a deployment elsewhere it is the
 * gateway's own, and the operator's key makes the calls: no caller ever sees it.
 */
async function createIdentify(
  config: Config,
  deployment: Deployment,
): Promise<(token: string) => Promise<Caller | undefined>> {
  if (deployment.own !== undefined) {
    return async (token) => {
      const known = await deployment.followKey(token)();
      return known && { key: token, known };
    };
  }
  prepareDataFolder(config.data);
  const expected = readHttpToken(config, () => createToken(random));
  const key = readApiKey(config);
  const known = await learnKey(config, deployment, key);
  return (token) => Promise.resolve(isSameSecret(token, expected) ? { key, known } : undefined);
}

async function attach(
  server: Server,
  { config, addresses, report }: Serving,
  { own }: Deployment,
  { mcp, state }: { readonly mcp: McpHttp; readonly state: LazyState },
): Promise<void> {
  const { approval_pin_file } = config.secrets;
  const checkPin = approval_pin_file === undefined ? undefined : await openPin(approval_pin_file);
  const approvals = createApprovalPages({
    openState: state.open,
    hostnames: listHostnames(config, addresses),
    checkPin,
    onDecided: () => {},
    report,
  });
  const origins = { linkOrigin: addresses.links ?? "", secondOrigin: config.second_origin };
  attachFront(server, {
    api: own?.fetch,
    mcp: mcp.fetch,
    approvals: approvals.fetch,
    links: own && createHost({ ...own, ...origins, clock, random, report }),
    hostnames: listHostnames(config, addresses),
    isHealthy: async () => own === undefined || own.store.isReadable(),
  });
  own?.store.watchChores(report);
}

async function listen(server: Server, { host, port }: Config): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === "EADDRINUSE";
      const fault = isTaken
        ? `port ${port} on ${host} is in use; choose another with --port`
        : `cannot listen on ${host}, port ${port} (${error.code}); see --host and --port`;
      reject(new UsageFault(fault));
    });
    server.listen({ host, port }, resolve);
  });
  // A listening TCP server has an address with a port; only pipes have a path instead.
  return (server.address() as AddressInfo).port;
}

/**
 * Idle connections end at once, busy ones when their answer is out or the time is up. So do those
 * that never asked for anything: browsers open some in advance.
 */
async function drain(server: Server, mcp: McpHttp): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  // A connection becomes idle when its last answer is out, and Node looks only once.
  const sweep = setInterval(() => server.closeIdleConnections(), sweepEvery_ms);
  const timer = setTimeout(() => server.closeAllConnections(), patience_ms);
  // A client that listens is never done by itself.
  await mcp.close(patience_ms);
  await closed;
  clearInterval(sweep);
  clearTimeout(timer);
}

function announce({ config, addresses }: Serving, { own }: Deployment, json: boolean): void {
  if (own === undefined) return announceGateway(config, addresses, json);
  const { keyFile, isFirstStart } = own;
  if (json) print(JSON.stringify({ ...addresses, key_file: keyFile }));
  if (!isFirstStart) {
    const key = existsSync(keyFile) ? `key: ${keyFile}` : "make a key with waypost keys create";
    say(`Waypost serves ${addresses.api} and MCP at ${addresses.mcp} (${key}). Ctrl-C stops it.`);
    return;
  }
  // The header goes through a pipe: an argument would show the key to every other process.
  const header = `printf 'Authorization: Token %s' "$(cat '${keyFile}')"`;
  const body = `-H 'Content-Type: application/json' -d '{"url":"https://example.com"}'`;
  say(`Waypost serves ${addresses.api}; the key of your project "default" is in ${keyFile}.`);
  say(`Make your first link: ${header} | curl -H @- ${addresses.api}/links ${body}`);
  say(`More keys: waypost keys create --project default. All commands: waypost --help.`);
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
