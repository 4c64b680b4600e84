import { UsageFault, type Config } from "../../config.ts";
import type { Listening, ReadListening } from "../../mcp/access/listening.ts";
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
import { sleep } from "../process/open-client.ts";
import { askListener, createAnswerProcess, findStatement } from "./ask-listener.ts";
import { openSigner, type Signer } from "./folder-signer.ts";

/**
 * A stdio process's part in serving links and pages. Of the processes of a folder with the same
 * port, the first that gets it serves them; the others try again every few seconds.
 */
export type FolderListener = {
  /** Allows this process to listen. */
  readonly setHandlers: (makeHandlers: MakeHandlers) => void;
  /** Where the folder is served. If no process listens, this one starts to. */
  readonly read: ReadListening;
  /** The origin of links, with `{subdomain}` in it, as far as it is known. */
  readonly readLinkOrigin: () => string;
  /** A note for results that contain link addresses, if they do not open or may change. */
  readonly describeAddresses: () => string | undefined;
  readonly close: () => Promise<void>;
};

type MakeHandlers = (listening: Listening) => RequestHandlers;

type Options = {
  readonly config: Config;
  /** What a person types to have the links served. */
  readonly serveCommand: string;
  /** Logs an unexpected error for the operator. */
  readonly report: (error: unknown) => unknown;
};

const loopback = "127.0.0.1";
const tryEvery_ms = 2000;
/** How long the answer of another process is used without asking again. */
const fresh_ms = 1000;
/** How long the port stays free for `serve` after it asked for it. */
const reservedFor_ms = 1500;
const lookAgain_ms = 25;
/** How long to wait for a process that is starting on the port, or leaving it. */
const settleWithin_ms = 3000;

export function createFolderListener(options: Options): FolderListener {
  const { config } = options;
  const life = new AbortController();
  const state: State = {
    ...options,
    signal: life.signal,
    leaving: new Set(),
    settledAt: -Infinity,
    reservedUntil: -Infinity,
  };
  // A remote server has its own link host, so this folder needs no listener.
  const isElsewhere = config.base_url !== undefined;
  const readCurrent = () => state.held?.listening ?? state.other;
  return {
    setHandlers: (makeHandlers) => {
      state.makeHandlers = makeHandlers;
    },
    read: async () => {
      if (state.signal.aborted || isElsewhere) return undefined;
      const isFresh = clock.monotonic() - state.settledAt < fresh_ms;
      if (state.held === undefined && !(isFresh && state.other)) await settle(state);
      return readCurrent();
    },
    readLinkOrigin: () => {
      const links = config.link_origin ?? readCurrent()?.links;
      return links ?? describeLinkOrigin(config, config.port);
    },
    describeAddresses: () => {
      // Then the operator or the remote server serves the links.
      if (config.link_origin !== undefined || isElsewhere) return undefined;
      const listening = readCurrent();
      if (listening === undefined) return describeNobody(options, state.fault);
      return listening.isTemporary ? describeTemporary(config) : undefined;
    },
    close: async () => {
      life.abort();
      clearTimeout(state.timer);
      leave(state);
      await state.settling;
      await Promise.all(state.leaving);
    },
  };
}

type State = Options & {
  /** Aborted when the process ends. */
  readonly signal: AbortSignal;
  /** Servers that no longer listen, but still answer earlier requests. */
  readonly leaving: Set<Promise<void>>;
  makeHandlers?: MakeHandlers;
  held?: { readonly server: HttpServer; readonly listening: Listening } | undefined;
  /** The other process that listens, if one does. */
  other?: Listening | undefined;
  /** Why no process is known to listen. */
  fault?: string | undefined;
  settling?: Promise<void> | undefined;
  timer?: NodeJS.Timeout;
  /** By the monotonic clock, like `reservedUntil`. */
  settledAt: number;
  /** Until then the port is left to `serve`. */
  reservedUntil: number;
};

function settle(state: State): Promise<void> {
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
      state.settledAt = clock.monotonic();
      const isSettled = state.held?.listening.isTemporary === false;
      if (isSettled || state.signal.aborted) return;
      state.timer = setTimeout(() => void settle(state), tryEvery_ms).unref();
    });
  return state.settling;
}

async function listenOrAsk(state: State): Promise<void> {
  const { config, signal, makeHandlers } = state;
  const { data, port, serve } = config;
  if (!serve || makeHandlers === undefined) {
    state.other = await findStatement(config);
    return;
  }
  const signer = openSigner(data);
  const until = clock.monotonic() + settleWithin_ms;
  while (!signal.aborted) {
    const isReserved = clock.monotonic() < state.reservedUntil;
    if (!isReserved) await tryPort(state, port, signer, makeHandlers);
    // A temporary port is kept until the other program leaves the wanted one.
    if (state.held !== undefined || signal.aborted) return;
    const found = await askListener({ host: loopback, port }, signer);
    state.other = typeof found === "string" ? undefined : found;
    if (state.other !== undefined) return;
    const isOver = clock.monotonic() > until;
    // Another program may answer forever like a Waypost process that is starting.
    const isStarting = found === "starting" && state.fault === undefined;
    if (isOver && isStarting) throw new UsageFault("no port became free in time");
    if (isOver || found === "foreign") return hold(state, 0, signer, makeHandlers);
    await sleep(lookAgain_ms, signal).catch(() => undefined);
  }
}

/** Listens, unless another process has the port. */
async function tryPort(...[state, port, signer, handlers]: Parameters<typeof hold>) {
  try {
    await hold(state, port, signer, handlers);
  } catch (error) {
    if (readCode(error) === "EADDRINUSE" || state.held !== undefined) return;
    // This user may not use the port, for example. No other process of the folder has it either.
    await hold(state, 0, signer, handlers);
  }
}

async function hold(
  state: State,
  wanted: number,
  signer: Signer,
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
    signer,
    port,
    readStatement: () => ({ kind: "stdio", ...listening }),
    leave: () => {
      state.reservedUntil = clock.monotonic() + reservedFor_ms;
      leave(state);
      void settle(state);
    },
  });
  setRequestHandlers(server, { ...makeHandlers(listening), answerProcess });
  state.other = undefined;
  leave(state);
  state.held = { server, listening };
  if (state.signal.aborted) leave(state);
}

function leave(state: State): void {
  if (state.held === undefined) return;
  const closed = closeHttpServer(state.held.server).finally(() => state.leaving.delete(closed));
  state.leaving.add(closed);
  state.held = undefined;
}

function describeNobody(
  { config, serveCommand }: Options,
  fault: string | undefined,
): string | undefined {
  const reason = config.serve ? fault : "WAYPOST_SERVE is off";
  if (reason === undefined) return undefined;
  const advice = `Tell the user that links open only while \`${serveCommand}\` runs.`;
  return `Links do not open now: ${reason}. ${advice}`;
}

function describeTemporary({ port }: Config): string {
  const advice = "Tell the user that the addresses may change in the next session.";
  return `The links' addresses are temporary: another program is using port ${port}. ${advice}`;
}
