import { setTimeout as sleep } from "node:timers/promises";
import { UsageFault, type Config } from "../../config.ts";
import { describeLinkOrigin } from "../http/addresses.ts";
import { readCode } from "../data/data-folder.ts";
import { clock } from "../process/embedded.ts";
import {
  closeHttpServer,
  createHttpServer,
  setRequestHandlers,
  type HttpServer,
  type RequestHandlers,
} from "../http/http-server.ts";
import { listenOnBoth } from "../http/listen-on-both.ts";
import {
  askListener,
  createAnswerProcess,
  findStatement,
  openSign,
  type Listening,
} from "./ask-listener.ts";

/**
 * A stdio process's part in serving links and pages. Of the processes of a folder with the same
 * port, the first that gets it serves them; the others try again every few seconds.
 */
export type FolderListener = {
  /** Says what this process serves. Until then it only finds out whether another one listens. */
  readonly setHandlers: (makeHandlers: MakeHandlers) => void;
  /** Where the folder is served. If no process listens, this one starts to. */
  readonly read: () => Promise<Listening | undefined>;
  /** The origin of links, with `{subdomain}` in it, as far as it is known. */
  readonly readLinkOrigin: () => string;
  /** A note for results that contain link addresses, if they do not open or may change. */
  readonly describeAddresses: () => string | undefined;
  readonly close: () => Promise<void>;
};

type MakeHandlers = (listening: Listening) => RequestHandlers;

type FolderListenerOptions = {
  readonly config: Config;
  /** What a person types to have the links served. */
  readonly serveCommand: string;
  /** Logs an unexpected error for the operator. */
  readonly report: (error: unknown) => unknown;
};

type ListenerState = FolderListenerOptions & {
  isClosed: boolean;
  makeHandlers?: MakeHandlers;
  held?: { readonly server: HttpServer; readonly listening: Listening } | undefined;
  /** The other process that listens, if one does. */
  other?: Listening | undefined;
  /** Why no process is known to listen. */
  fault?: string | undefined;
  settling?: Promise<void> | undefined;
  timer?: NodeJS.Timeout;
};

const loopback = "127.0.0.1";
/** Also how long a process that has left the port to `serve` waits before it tries again. */
const tryEvery_ms = 2000;
const lookAgain_ms = 25;
/** How long to wait for a process that is starting on the port, or leaving it. */
const settleWithin_ms = 3000;

export function createFolderListener(options: FolderListenerOptions): FolderListener {
  const { config, serveCommand } = options;
  const state: ListenerState = { ...options, isClosed: false };
  // A remote server has its own link host, so this folder needs no listener.
  const isRemote = config.base_url !== undefined;
  const readCurrent = () => state.held?.listening ?? state.other;
  return {
    setHandlers: (makeHandlers) => {
      state.makeHandlers = makeHandlers;
    },
    read: async () => {
      if (readCurrent() === undefined && !isRemote && !state.isClosed) await settle(state);
      return readCurrent();
    },
    readLinkOrigin: () => {
      const links = config.link_origin ?? readCurrent()?.links;
      return links ?? describeLinkOrigin(config, config.port);
    },
    describeAddresses: () => {
      // Then the operator or the remote server serves the links.
      if (config.link_origin !== undefined || isRemote) return undefined;
      const listening = readCurrent();
      if (listening?.isTemporary === true) return describeTemporary(config);
      const reason = config.serve ? state.fault : "WAYPOST_SERVE is off";
      if (listening !== undefined || reason === undefined) return undefined;
      const advice = `Tell the user that links open only while \`${serveCommand}\` runs.`;
      return `Links do not open now: ${reason}. ${advice}`;
    },
    close: async () => {
      state.isClosed = true;
      clearTimeout(state.timer);
      await state.settling;
      await leave(state);
    },
  };
}

function describeTemporary({ port }: Config): string {
  const advice = "Tell the user that the addresses may change in the next session.";
  return `The links' addresses are temporary: another program is using port ${port}. ${advice}`;
}

function settle(state: ListenerState): Promise<void> {
  clearTimeout(state.timer);
  state.settling ??= listenOrAsk(state)
    .then(
      () => (state.fault = undefined),
      (error: unknown) => {
        state.other = undefined;
        state.fault = error instanceof UsageFault ? error.message : "no port is free";
        if (!(error instanceof UsageFault)) state.report(error);
      },
    )
    .then(() => {
      state.settling = undefined;
      if (state.held?.listening.isTemporary !== false) settleLater(state);
    });
  return state.settling;
}

function settleLater(state: ListenerState): void {
  if (state.isClosed) return;
  state.timer = setTimeout(() => void settle(state), tryEvery_ms).unref();
}

async function listenOrAsk(state: ListenerState): Promise<void> {
  const { config, makeHandlers } = state;
  const { data, port, serve } = config;
  if (!serve || makeHandlers === undefined) {
    state.other = await findStatement(config);
    return;
  }
  // Fails if the folder's secret is wrong, and lets other processes answer where it is new.
  openSign(data);
  const until = clock.monotonic() + settleWithin_ms;
  while (!state.isClosed) {
    const isTaken = await hold(state, port, makeHandlers).then(
      () => false,
      (error: unknown) => readCode(error) === "EADDRINUSE",
    );
    // A temporary port is kept until the other program leaves the wanted one.
    if (state.held !== undefined) return;
    // If this user may not use the port, no other process of the folder has it either.
    const holder = isTaken ? await askListener("ask", { host: loopback, port }, data) : "foreign";
    state.other = typeof holder === "string" ? undefined : holder;
    if (state.other !== undefined) return;
    // Another program may answer forever like a Waypost process that is starting.
    if (holder === "foreign" || clock.monotonic() > until) return hold(state, 0, makeHandlers);
    await sleep(lookAgain_ms);
  }
}

async function hold(
  state: ListenerState,
  wanted: number,
  makeHandlers: MakeHandlers,
): Promise<void> {
  const { config } = state;
  const server = createHttpServer();
  const port = await listenOnBoth(server, { host: loopback, port: wanted, hasLocalLinks: true });
  const listening: Listening = {
    url: `http://${loopback}:${port}`,
    links: describeLinkOrigin(config, port),
    isTemporary: config.port !== 0 && port !== config.port,
  };
  const answerProcess = createAnswerProcess({
    data: config.data,
    port,
    readStatement: () => ({ kind: "stdio", ...listening }),
    leave: () => {
      void leave(state);
      settleLater(state);
    },
  });
  setRequestHandlers(server, { ...makeHandlers(listening), answerProcess });
  void leave(state);
  state.held = { server, listening };
  state.other = undefined;
}

async function leave(state: ListenerState): Promise<void> {
  const { held } = state;
  state.held = undefined;
  if (held !== undefined) await closeHttpServer(held.server);
}
