import type { Writable } from "node:stream";
import type { Server } from "@modelcontextprotocol/server";
import { describeLinkOrigin } from "../compose/addresses.ts";
import {
  chooseTools,
  createAssistant,
  learnKey,
  prepareState,
  type LazyState,
} from "../compose/assistant.ts";
import { openDeployment, type Deployment } from "../compose/deployment.ts";
import { createLog, createReport, type Log } from "../compose/log.ts";
import { openPin } from "../compose/pin-file.ts";
import { readApiKey } from "../compose/secrets.ts";
import type { Config } from "../config.ts";
import { createPageServer, type PageServer } from "../mcp/approval/page-server.ts";
import { approvalPath, createApprovalPages } from "../mcp/approval/page.ts";
import { watchVisible, type Toolbox } from "../mcp/tools/toolbox.ts";
import { serveOverStdio } from "../mcp/transport/stdio.ts";
import { claimStdout } from "./terminal/output.ts";

type StdioOptions = {
  readonly config: Config;
  readonly version: string;
  readonly input: NodeJS.ReadStream;
  /** Resolves when the process is asked to stop. */
  readonly stopped: Promise<unknown>;
};

/** MCP over stdin and stdout, for one client, until it goes or we are asked to stop. */
export async function runStdio(options: StdioOptions): Promise<void> {
  const { config } = options;
  const output = claimStdout();
  const toolbox = chooseTools(config);
  const log = createLog(config);
  const report = createReport(log);
  const linkOrigin = describeLinkOrigin(config, config.port);
  const deployment = await openDeployment({ config, linkOrigin, report });
  try {
    await serve(options, deployment, { output, toolbox, log, report });
  } finally {
    await deployment.close();
  }
}

type Ways = {
  readonly output: Writable;
  readonly toolbox: Toolbox;
  readonly log: Log;
  readonly report: (error: unknown) => string;
};

async function serve(
  { config, version, input, stopped }: StdioOptions,
  deployment: Deployment,
  { output, toolbox, log, report }: Ways,
): Promise<void> {
  const state = prepareState(config);
  const listener = await openPages(config, state, report);
  const openPage = (id: string) => listener.open(approvalPath, id);
  const parts = { config, toolbox, deployment, version, state, openPage, report };
  const assistant = createAssistant(parts);
  const onError = (error: unknown) => log.debug({ error: String(error) }, "protocol error");
  await assistant.recall();
  const key = readApiKey(config);
  const known = await learnKey(config, deployment, key);
  let connected: Server | undefined;
  const keyContext = assistant.createKeyContext({ key, known }, () => onChange());
  const onChange = watchVisible(toolbox, keyContext, () => {
    // A client that is gone by now needs no news.
    connected?.sendToolListChanged().catch(() => undefined);
  });
  const createServer = () => (connected = assistant.createServer(keyContext));
  const onRefused = (reason: string) => log.warn({ reason }, "a line was refused");
  try {
    await serveOverStdio({ input, output, stopped, createServer, onRefused, onError });
  } finally {
    listener.close();
    await assistant.close();
  }
}

async function openPages(
  config: Config,
  { open }: LazyState,
  report: (error: unknown) => string,
): Promise<PageServer> {
  const { approval_pin_file } = config.secrets;
  const checkPin = approval_pin_file === undefined ? undefined : await openPin(approval_pin_file);
  const listener = createPageServer((request) => pages.fetch(request));
  const pages = createApprovalPages({
    openState: open,
    hostnames: ["127.0.0.1", "localhost"],
    checkPin,
    onDecided: listener.release,
    report,
  });
  return listener;
}
