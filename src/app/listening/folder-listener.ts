import { UsageFault, type Config } from "../../config.ts";
import { describeLinkOrigin } from "../http/addresses.ts";
import {
  closeHttpServer,
  createHttpServer,
  setRequestHandlers,
  type HttpServer,
  type RequestHandlers,
} from "../http/http-server.ts";
import { listenOnBoth } from "../http/listen-on-both.ts";
import {
  createAnswerProcess,
  findStatement,
  openSecret,
  takePort,
  type Listening,
} from "./ask-listener.ts";

/** Serves links and pages in a stdio process, if no other process with this data folder does. */

type ListenerState = {
  readonly config: Config;
  readonly serveCommand: string;
  readonly report: (error: unknown) => unknown;
  isClosed: boolean;
  makeHandlers?: (listening: Listening) => RequestHandlers;
  held?: { readonly server: HttpServer; readonly listening: Listening } | undefined;
  /** Where another process of the folder listens, if one does. */
  other?: Listening | undefined;
  /** Why neither this process nor another one listens. */
  fault?: string | undefined;
  settling?: Promise<void> | undefined;
  timer?: NodeJS.Timeout;
};

/** How often a process without the configured port tries to get it. */
const tryEvery_ms = 2000;

export function createFolderListener(
  options: Pick<ListenerState, "config" | "serveCommand" | "report">,
) {
  const { config, serveCommand } = options;
  const state: ListenerState = { ...options, isClosed: false };
  // A remote server has its own link host, so this folder needs no listener.
  const isRemote = config.base_url !== undefined;
  const readCurrent = () => state.held?.listening ?? state.other;
  return {
    /** Sets the request handlers. Until then, this process only looks for another listener. */
    setHandlers: (makeHandlers: NonNullable<ListenerState["makeHandlers"]>) => {
      state.makeHandlers = makeHandlers;
    },
    /** Returns where the folder's links are served. Starts listening if no process does. */
    read: async (): Promise<Listening | undefined> => {
      if (readCurrent() === undefined && !isRemote && !state.isClosed) await settle(state);
      return readCurrent();
    },
    /**
     * Returns the origin of links, with `{subdomain}`. Assumes the configured port until a process
     * listens.
     */
    readLinkOrigin: (): string =>
      config.link_origin ?? readCurrent()?.links ?? describeLinkOrigin(config, config.port),
    /** Returns a note to show with link URLs if they do not open or may change. */
    describeAddresses: (): string | undefined => {
      // The operator or the remote server serves the links, so their URLs are not temporary.
      if (config.link_origin !== undefined || isRemote) return undefined;
      const listening = readCurrent();
      const reason = config.serve ? state.fault : "WAYPOST_SERVE is off";
      if (listening === undefined) {
        const advice = `Tell the user that links open only while \`${serveCommand}\` runs.`;
        return reason && `Links do not open now: ${reason}. ${advice}`;
      }
      if (!listening.isTemporary) return undefined;
      return (
        `The links' addresses are temporary: another program is using port ${config.port}. ` +
        "Tell the user that the addresses may change in the next session."
      );
    },
    close: async (): Promise<void> => {
      state.isClosed = true;
      clearTimeout(state.timer);
      await state.settling;
      await leave(state);
    },
  };
}

function settle(state: ListenerState): Promise<void> {
  clearTimeout(state.timer);
  return (state.settling ??= listenOrAsk(state)
    .then(() => (state.fault = undefined))
    .catch((error: unknown) => {
      state.other = undefined;
      state.fault = error instanceof UsageFault ? error.message : "no port is free";
      if (!(error instanceof UsageFault)) state.report(error);
    })
    .then(() => {
      state.settling = undefined;
      if (state.held?.listening.isTemporary !== false) settleLater(state);
    }));
}

function settleLater(state: ListenerState): void {
  if (state.isClosed) return;
  state.timer = setTimeout(() => void settle(state), tryEvery_ms).unref();
}

async function listenOrAsk(state: ListenerState): Promise<void> {
  const { config, makeHandlers } = state;
  const { data, serve } = config;
  if (!serve || makeHandlers === undefined) {
    state.other = await findStatement(config);
    return;
  }
  // Creates the data folder's secret if it is missing, and throws if it is invalid.
  openSecret(data);
  const server = createHttpServer();
  const place = { host: "127.0.0.1", port: config.port, hasLocalLinks: true };
  const isStopped = () => state.isClosed;
  const taken = await takePort(server, place, "ask", data, isStopped).catch(() => undefined);
  if (isStopped()) return closeHttpServer(server);
  const isHeld = typeof taken === "number";
  state.other = isHeld ? undefined : taken;
  // Keep the current temporary port for as long as the configured port is in use.
  if (!isHeld && (taken ?? state.held) !== undefined) return;
  const port = isHeld ? taken : await listenOnBoth(server, { ...place, port: 0 });
  const listening: Listening = {
    url: `http://${place.host}:${port}`,
    links: describeLinkOrigin(config, port),
    isTemporary: config.port !== 0 && port !== config.port,
  };
  const readStatement = () => ({ kind: "stdio", ...listening }) as const;
  const answerProcess = createAnswerProcess({ data, port }, readStatement, () => {
    void leave(state);
    settleLater(state);
  });
  setRequestHandlers(server, { ...makeHandlers(listening), answerProcess });
  void leave(state);
  state.held = { server, listening };
}

async function leave(state: ListenerState): Promise<void> {
  const { held } = state;
  state.held = undefined;
  if (held !== undefined) await closeHttpServer(held.server);
}
