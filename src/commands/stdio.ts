import { resolve } from "node:path";
import type { Writable } from "node:stream";
import type { Server } from "@modelcontextprotocol/server";
import { createReadiness } from "../app/http/answer-probes.ts";
import {
  chooseTools,
  createAssistant,
  readKnownKey,
  type Assistant,
} from "../app/process/assistant.ts";
import { identifyOwn, type Deployment } from "../app/process/deployment.ts";
import { clock, random, setAlarm } from "../app/process/embedded.ts";
import type { RequestHandlers } from "../app/http/http-server.ts";
import { tellOutages } from "../app/process/explain-store-fault.ts";
import { saveExportFile } from "../app/process/export-files.ts";
import { requireTrustedOwner } from "../app/data/data-folder.ts";
import { createReadSaid } from "../app/http/find-country.ts";
import { createLazyState } from "../app/process/lazy-state.ts";
import { createFolderListener, type FolderListener } from "../app/listening/folder-listener.ts";
import { createLog, createReport, type Log } from "../app/process/log.ts";
import { readApiKey } from "../app/data/secrets.ts";
import { watchHost, watchWork, type Watches } from "../app/process/watch-work.ts";
import { withDeployment } from "../app/process/with-deployment.ts";
import type { Config } from "../config.ts";
import type { ConsoleParts } from "../app/console/parts.ts";
import { createConsolePages } from "../app/console/console.ts";
import { createHost } from "../host/host.ts";
import type { SaveFile } from "../mcp/access/key-context.ts";
import type { Listening } from "../mcp/access/listening.ts";
import { NowhereToAsk } from "../mcp/approval/require-approval.ts";
import { createPageServer } from "../mcp/approval/page-server.ts";
import { approvalPath, type ApprovalPages } from "../mcp/approval/approval-page.ts";
import { previewPath } from "../mcp/previews/preview-pages.ts";
import { watchVisible, type Toolbox } from "../mcp/tools/toolbox.ts";
import { serveOverStdio } from "../mcp/transport/stdio.ts";
import { quoteWord } from "../text/quote-word.ts";
import { claimStdout } from "./terminal/output.ts";

/** The names of the one place where this process listens. */
const hostnames = ["127.0.0.1", "localhost", "[::1]"];
/** The client is busy with the list until then. */
const listenAfter_ms = 100;
/** Once in the life of a build: it takes the time of some calls. */
const keepAfter_ms = 2000;

type StdioOptions = {
  readonly config: Config;
  readonly version: string;
  /** As it is typed in a shell: `waypost`. */
  readonly command: string;
  /** What Node is started with, from any folder. */
  readonly program: string;
  readonly input: NodeJS.ReadStream;
  /** Keeps what the next start need not compile again. */
  readonly keepCompiled: () => void;
  /** Resolves when the process is asked to stop. */
  readonly stopped: Promise<unknown>;
};

/** MCP over stdin and stdout, for one client, until it goes or we are asked to stop. */
export async function runStdio(options: StdioOptions): Promise<void> {
  const { config } = options;
  requireTrustedOwner(config.data);
  const output = claimStdout();
  const toolbox = chooseTools(config);
  const log = createLog(config);
  const report = createReport(log);
  // The client's variables and folder are not those of the shell in which a person types.
  const serveCommand = `${options.command} serve --data ${quoteWord(resolve(config.data))}`;
  const listener = createFolderListener({ config, serveCommand, report });
  const { readLinkOrigin } = listener;
  const parts = { ...options, ...watchWork(log, config), report };
  await withDeployment({ ...parts, warn: log.warn, readLinkOrigin }, (deployment) =>
    serve({ ...parts, deployment, listener, serveCommand, output, toolbox, log }),
  );
}

type Serving = StdioOptions &
  Watches & {
    readonly deployment: Deployment;
    readonly listener: FolderListener;
    /** What a person types to have the links and pages of this folder. */
    readonly serveCommand: string;
    readonly output: Writable;
    readonly toolbox: Toolbox;
    readonly log: Log;
    readonly report: (error: unknown) => string;
  };

async function serve(serving: Serving): Promise<void> {
  const { config, deployment, listener, serveCommand, toolbox, log, keepCompiled } = serving;
  const { own } = deployment;
  const state = createLazyState(config, { tables: own?.stateTables });
  const pageServer = createPageServer((request) => pages.fetch(request));
  const assistant = createAssistant({
    ...serving,
    state,
    openPage: async (id) => {
      const open = await listener.read();
      if (open !== undefined) return open.url + approvalPath + id;
      if (own !== undefined && !config.serve) throw new NowhereToAsk(serveCommand);
      return pageServer.open(approvalPath, id);
    },
    readListening: listener.read,
    describeAddresses: listener.describeAddresses,
    saveFile: (type, texts) => saveFile(serving, type, texts),
  });
  // Whoever is asked sits here, and is told on the page.
  const answered = { onDecided: pageServer.release, onRefused: () => {} };
  const pages = await assistant.openPages({ hostnames, ...answered });
  if (own !== undefined) {
    const showing = { ...answered, pages, state, assistant };
    listener.setHandlers((listening) => makeHandlers(own, showing, listening, serving));
  }
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
        // A start takes no longer for it, and a call that needs it earlier asks for it.
        setTimeout(() => void listener.read(), listenAfter_ms).unref();
        setTimeout(keepCompiled, keepAfter_ms).unref();
        isListed = true;
      },
    },
  );
  const visible = watchVisible(toolbox, keyContext, () => {
    // A client that is gone by now needs no news.
    connected?.sendToolListChanged().catch(() => undefined);
  });
  const fast = assistant.createFastCalls(keyContext);
  try {
    await serveOverStdio({
      ...serving,
      fast,
      createServer: () => (connected = assistant.createServer(keyContext, fast.admit)),
      onRefused: (reason) => log.warn({ reason }, "rejected an input line"),
      onError: (error) => log.debug({ error: String(error) }, "protocol error"),
    });
  } finally {
    // Most of what a start runs was run by then.
    if (isListed) keepCompiled();
    pageServer.close();
    await listener.close();
    await assistant.close();
  }
}

/** Undefined where it cannot be written: the same is to be had as a resource. */
async function saveFile(
  { config, report }: Serving,
  ...given: Parameters<SaveFile>
): ReturnType<SaveFile> {
  try {
    return await saveExportFile(config.data, ...given);
  } catch (error) {
    report(error);
    return undefined;
  }
}

type Showing = Pick<ConsoleParts, "state" | "onDecided" | "onRefused"> & {
  readonly pages: ApprovalPages;
  readonly assistant: Assistant;
};

/** Links and pages for a person: the API and MCP over HTTP are for `serve` alone. */
function makeHandlers(
  own: NonNullable<Deployment["own"]>,
  { pages, ...showing }: Showing,
  { links, url }: Listening,
  serving: Serving,
): RequestHandlers {
  const { config, deployment, command, report, log, watchVisit } = serving;
  const origins = { linkOrigin: links ?? "", secondOrigin: config.second_origin };
  const findCountry = createReadSaid(config);
  const host = createHost({
    ...own,
    ...origins,
    findCountry,
    clock,
    random,
    report: tellOutages(report, log.warn),
  });
  return {
    api: undefined,
    mcp: undefined,
    console: createConsolePages({
      ...serving,
      ...showing,
      identify: identifyOwn(deployment),
      hostnames,
      readServedBy: () => ({ kind: "stdio" }),
      addresses: { url, mcp: undefined },
      consoleCommand: `${command} console --data ${quoteWord(resolve(config.data))}`,
    }),
    pages: {
      [approvalPath]: pages.fetch,
      [previewPath]: showing.assistant.openPreviewPages(hostnames).fetch,
    },
    links: watchHost(host, watchVisit),
    hostnames,
    readUnready: createReadiness([own.store], setAlarm).readUnready,
    trustedProxies: undefined,
  };
}
