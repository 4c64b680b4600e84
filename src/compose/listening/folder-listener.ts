import { UsageFault, type Config } from "../../config.ts";
import type { ReadListening } from "../../mcp/access/listening.ts";
import { describeLinkOrigin } from "../addresses.ts";
import { clock } from "../embedded.ts";
import type { MakeHandlers } from "./hold-port.ts";
import {
  checkNote,
  leavePort,
  lookOrListen,
  readCurrent,
  type ListenerState,
} from "./look-or-listen.ts";

/**
 * A stdio process's part in its data folder's listening: one process of the folder listens,
 * whichever came first. The others stay connected to it, and one of them takes over at its end.
 */
export type FolderListener = {
  /** From now on this process may listen itself. */
  readonly setHandlers: (makeHandlers: MakeHandlers) => void;
  /** Who listens; where nobody does, this process begins to. */
  readonly read: ReadListening;
  /** Where links live, with `{subdomain}` in it, as far as it is known by now. */
  readonly readLinkOrigin: () => string;
  /** What whoever reads the addresses of links has to know of them, if anything. */
  readonly describeAddresses: () => string | undefined;
  readonly close: () => Promise<void>;
};

type Options = {
  readonly config: Config;
  /** What a person types to have the links served. */
  readonly serveCommand: string;
  /** Notes an unexpected error where the operator looks. */
  readonly report: (error: unknown) => unknown;
};

/** How long another process's note may stay unseen: each look at it reads a file. */
const noteHolds_ms = 20;

export function createFolderListener(options: Options): FolderListener {
  const { config, report } = options;
  const life = new AbortController();
  const { signal } = life;
  let settling: Promise<void> | undefined;
  let checkedAt = -Infinity;
  let fault: string | undefined;
  const state: ListenerState = {
    config,
    report,
    signal,
    settle,
    leaving: new Set(),
    makeHandlers: undefined,
    held: undefined,
    followed: undefined,
    signer: undefined,
    silent: new Set(),
    reservedUntil: 0,
  };
  // A deployment elsewhere has its own link host, and this folder needs no listener.
  const isElsewhere = config.base_url !== undefined;

  function settle(): Promise<void> {
    fault = undefined;
    settling ??= lookOrListen(state)
      .catch((error: unknown) => {
        fault = error instanceof UsageFault ? error.message : "no port is free";
        if (!(error instanceof UsageFault)) report(error);
      })
      .finally(() => (settling = undefined));
    return settling;
  }

  return {
    setHandlers: (makeHandlers) => {
      state.makeHandlers = makeHandlers;
    },
    read: async () => {
      const isOver = signal.aborted || isElsewhere;
      if (isOver) return undefined;
      const now = clock.monotonic();
      if (now - checkedAt >= noteHolds_ms) {
        checkedAt = now;
        await checkNote(state).catch(report);
      }
      if (readCurrent(state) === undefined) await settle();
      return readCurrent(state);
    },
    readLinkOrigin: () => {
      const links = config.link_origin ?? readCurrent(state)?.links;
      return links ?? describeLinkOrigin(config, config.port);
    },
    describeAddresses: () => {
      // Then the operator, or a deployment elsewhere, serves them in a way of its own.
      if (config.link_origin !== undefined || isElsewhere) return undefined;
      const listening = readCurrent(state);
      if (listening === undefined) return describeNobody(options, fault);
      return listening.isTemporary ? describeTemporary(config) : undefined;
    },
    close: async () => {
      life.abort();
      if (state.held !== undefined) leavePort(state, state.held);
      await settling;
      await Promise.all(state.leaving);
    },
  };
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
