import { resolve } from "node:path";
import type { Server } from "@modelcontextprotocol/server";
import { createBrowserHandlers, type BrowserParts } from "../app/console/browser-handlers.ts";
import { requireTrustedOwner } from "../app/data/data-folder.ts";
import { readApiKey } from "../app/data/secrets.ts";
import { createReadiness } from "../app/http/answer-probes.ts";
import { createHeaderReader } from "../app/http/find-country.ts";
import { createFolderListener } from "../app/listening/folder-listener.ts";
import { chooseTools, createAssistant, readKnownKey } from "../app/process/assistant.ts";
import { identifyOwn, withDeployment, type Deployment } from "../app/process/deployment.ts";
import { setAlarm } from "../app/process/embedded.ts";
import { saveExportFile } from "../app/process/export-files.ts";
import { createLog, createReport } from "../app/process/log.ts";
import { watchWork } from "../app/process/watch-work.ts";
import { NoApprovalPage } from "../mcp/approval/require-approval.ts";
import { createPageListener } from "../mcp/approval/page-listener.ts";
import { approvalPath } from "../mcp/approval/approval-page.ts";
import { watchVisible } from "../mcp/tools/toolbox.ts";
import { serveOverStdio } from "../mcp/transport/stdio.ts";
import { quoteWord } from "../text/escape.ts";
import { nameCommand } from "./terminal/command-name.ts";
import type { Command, Invocation } from "./terminal/command.ts";
import { claimStdout } from "./terminal/output.ts";

/** `waypost stdio` serves one MCP client over stdin and stdout. */

const hostnames = ["127.0.0.1", "localhost", "[::1]"];
/** Delays the listener, because the client reads the list of tools first. */
const listenAfter_ms = 100;
/** Delays caching compiled code, because writing the cache takes as long as several calls. */
const keepAfter_ms = 2000;

export const stdio: Command = {
  usages: {
    "": ["serve MCP over stdin and stdout, for a client that starts Waypost (also: stdio)", run],
  },
  flags: {},
};

async function run(invocation: Invocation<object>): Promise<void> {
  const parts = openParts(invocation);
  await withDeployment(parts, (deployment) => serve(deployment, parts));
}

type StdioParts = ReturnType<typeof openParts>;

function openParts({ config, runtime }: Invocation<object>) {
  const { program, version, keepCompiled, input } = runtime;
  requireTrustedOwner(config.data);
  const output = claimStdout();
  const log = createLog(config);
  const report = createReport(log);
  // The user's shell may have other environment variables and another working folder.
  const command = nameCommand(program);
  const compose = (name: string) => `${command} ${name} --data ${quoteWord(resolve(config.data))}`;
  const serveCommand = compose("serve");
  const listener = createFolderListener({ config, serveCommand, report });
  return {
    ...watchWork(log, config),
    config,
    version,
    keepCompiled,
    input,
    stopped: runtime.waitForStop(),
    program: resolve(program),
    consoleCommand: compose("console"),
    serveCommand,
    output,
    toolbox: chooseTools(config),
    log,
    warn: log.warn,
    report,
    listener,
    readLinkOrigin: listener.readLinkOrigin,
  };
}

async function serve(deployment: Deployment, parts: StdioParts): Promise<void> {
  const { config, listener, serveCommand, toolbox, log, report, keepCompiled } = parts;
  const pageServer = createPageListener((request) => approvals.fetch(request));
  const assistant = createAssistant({
    ...parts,
    deployment,
    openPage: async (id) => {
      if (deployment.own !== undefined && !config.serve) throw new NoApprovalPage(serveCommand);
      return pageServer.open(approvalPath, id);
    },
    readListening: listener.read,
    describeAddresses: listener.describeAddresses,
    // If the file cannot be written, the assistant still gets the export as a resource.
    saveFile: (...file) =>
      saveExportFile(config.data, ...file).catch((error: unknown) => {
        report(error);
        return undefined;
      }),
  });
  // Failed approvals are not logged, because the user is at this machine and sees the error.
  const answered = { onDecided: pageServer.release, onRefused: () => {} };
  const approvals = await assistant.openPages({ hostnames, ...answered });
  setHandlers(deployment, { ...parts, ...answered, assistant, approvals });
  await assistant.loadUnfinished();
  const key = readApiKey(config);
  const known = await readKnownKey(config, deployment, key);
  let connected: Server | undefined;
  let isListed = false;
  const keyContext = assistant.createKeyContext(
    { key, known },
    {
      onChange: () => visible.onChange(),
      onListed: () => {
        visible.onListed();
        // Starting the listener late keeps start-up fast. Calls that need a URL start it earlier.
        setTimeout(() => void listener.read(), listenAfter_ms).unref();
        setTimeout(keepCompiled, keepAfter_ms).unref();
        isListed = true;
      },
    },
  );
  const visible = watchVisible(toolbox, keyContext, () => {
    connected?.sendToolListChanged().catch(() => undefined);
  });
  const fast = assistant.createFastCalls(keyContext);
  try {
    await serveOverStdio({
      ...parts,
      fast,
      createServer: () => (connected = assistant.createServer(keyContext, fast.admit)),
      onRefused: (reason) => log.warn({ reason }, "rejected an input line"),
      onError: (error) => log.debug({ error: String(error) }, "protocol error"),
    });
  } finally {
    if (isListed) keepCompiled();
    pageServer.close();
    await listener.close();
    await assistant.close();
  }
}

type HandlerParts = StdioParts &
  Pick<BrowserParts, "assistant" | "approvals" | "onDecided" | "onRefused">;

/** Makes this process serve links and pages. Only `serve` offers the API and MCP over HTTP. */
function setHandlers(deployment: Deployment, parts: HandlerParts): void {
  const { own } = deployment;
  if (own === undefined) return;
  const { config, listener } = parts;
  listener.setHandlers(({ url, links }) => ({
    ...createBrowserHandlers({
      ...parts,
      deployment,
      hostnames,
      identify: identifyOwn(deployment),
      describeListener: () => ({ kind: "stdio" }),
      addresses: { url, links, mcp: undefined },
      findCountry: createHeaderReader(config),
      trustedProxies: undefined,
    }),
    api: undefined,
    mcp: undefined,
    readUnready: createReadiness([own.store], setAlarm).readUnready,
  }));
}
