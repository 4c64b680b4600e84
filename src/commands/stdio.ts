import type { Writable } from "node:stream";
import type { Server } from "@modelcontextprotocol/server";
import { chooseTools, createAssistant, readKnownKey } from "../compose/assistant.ts";
import type { Deployment } from "../compose/deployment.ts";
import { createLazyState } from "../compose/lazy-state.ts";
import { createLog, createReport, type Log } from "../compose/log.ts";
import { readApiKey } from "../compose/secrets.ts";
import { withDeployment } from "../compose/with-deployment.ts";
import type { Config } from "../config.ts";
import { createPageServer } from "../mcp/approval/page-server.ts";
import { approvalPath } from "../mcp/approval/page.ts";
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
  await withDeployment({ config, report }, (deployment) =>
    serve({ ...options, deployment, output, toolbox, log, report }),
  );
}

type Serving = StdioOptions & {
  readonly deployment: Deployment;
  readonly output: Writable;
  readonly toolbox: Toolbox;
  readonly log: Log;
  readonly report: (error: unknown) => string;
};

async function serve(serving: Serving): Promise<void> {
  const { config, deployment, toolbox, log } = serving;
  const pageServer = createPageServer((request) => pages.fetch(request));
  const assistant = createAssistant({
    ...serving,
    state: createLazyState(config),
    openPage: (id) => pageServer.open(approvalPath, id),
    readListening: () => Promise.resolve(undefined),
  });
  const hostnames = ["127.0.0.1", "localhost"];
  const pages = await assistant.openPages({
    hostnames,
    onDecided: pageServer.release,
    // Whoever is asked sits here, and is told on the page.
    onRefused: () => {},
  });
  await assistant.loadUnfinished();
  const key = readApiKey(config);
  const known = await readKnownKey(config, deployment, key);
  let connected: Server | undefined;
  const keyContext = assistant.createKeyContext(
    { key, known },
    {
      onChange: () => visible.onChange(),
      onListed: () => visible.onListed(),
    },
  );
  const visible = watchVisible(toolbox, keyContext, () => {
    // A client that is gone by now needs no news.
    connected?.sendToolListChanged().catch(() => undefined);
  });
  try {
    await serveOverStdio({
      ...serving,
      createServer: () => (connected = assistant.createServer(keyContext)),
      onRefused: (reason) => log.warn({ reason }, "a line was refused"),
      onError: (error) => log.debug({ error: String(error) }, "protocol error"),
    });
  } finally {
    pageServer.close();
    await assistant.close();
  }
}
