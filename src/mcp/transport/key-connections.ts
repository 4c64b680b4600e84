import { createMcpHandler, type McpHttpHandler, type Server } from "@modelcontextprotocol/server";
import type { KnownKey } from "../../contract/access.ts";
import { printKey, type KeyContext, type VisibleListeners } from "../access/key-context.ts";
import { watchVisible, type Toolbox } from "../tools/toolbox.ts";
import type { CallListener } from "../protocol/server.ts";
import type { CallLimits } from "./call-limits.ts";
import type { FastCalls } from "./fast-path/fast-calls.ts";
import { refuseStopping } from "./refusals.ts";
import { answerUntilEnd } from "./response-end.ts";
import type { SessionOwner, McpSessions } from "./sessions.ts";

/** Keeps the MCP connections of each API key, with the state that they share. */

export type IdentifiedCaller = { readonly key: string | undefined; readonly known: KnownKey };

/** State that all connections of one key share. */
export type KeyConnections = SessionOwner & {
  /** Handles requests of MCP version 2026-07-28, which has no sessions. */
  readonly modern: McpHttpHandler;
  /** The open notification streams. Aborting a controller ends its stream. */
  readonly listeners: Set<AbortController>;
  /** Updates the key's access, and notifies listeners of changes. */
  readonly renew: () => Promise<void>;
};

export type ConnectionOptions = {
  readonly toolbox: Toolbox;
  readonly createKeyContext: (caller: IdentifiedCaller, listeners: VisibleListeners) => KeyContext;
  readonly createServer: (keyContext: KeyContext, onCall?: CallListener) => Server;
  readonly createFastCalls: (keyContext: KeyContext) => FastCalls;
  readonly onError: (error: unknown) => void;
};

type SharedLimits = { readonly sessions: McpSessions; readonly limits: CallLimits };

export type Connections = {
  readonly find: (caller: IdentifiedCaller) => KeyConnections;
  readonly listen: (key: KeyConnections, open: () => Promise<Response>) => Promise<Response>;
  /** Returns false if the key or the server has too many open streams. */
  readonly canListen: (key: KeyConnections) => boolean;
  readonly countListeners: () => number;
  /** Ends all notification streams and accepts no new ones. */
  readonly endListening: () => void;
  readonly close: () => Promise<void>;
};

const mostKeys = 1000;
const mostListeners = 2500;
const mostListenersOfKey = 1250;
/** How often keys with open streams are checked for access changes by other processes. */
const followEvery_ms = 1000;

export function createConnections(options: ConnectionOptions & SharedLimits): Connections {
  const { sessions, limits } = options;
  /** The connections by key, the most recently used last. */
  const byKey = new Map<string, KeyConnections>();
  let isListeningOver = false;
  const following = setInterval(() => {
    for (const { listeners, renew } of byKey.values()) if (listeners.size > 0) void renew();
  }, followEvery_ms).unref();
  const countListeners = () =>
    [...byKey.values()].reduce((total, { listeners }) => total + listeners.size, 0);

  return {
    find: (caller) => {
      const key_print = printKey(caller.key);
      const found = byKey.get(key_print) ?? openConnections(caller, key_print, options);
      byKey.delete(key_print);
      byKey.set(key_print, found);
      if (byKey.size > mostKeys) closeIdle(found);
      return found;
    },
    canListen: ({ listeners }) =>
      listeners.size < mostListenersOfKey && countListeners() < mostListeners,
    countListeners,
    listen: async ({ listeners }, open) => {
      if (isListeningOver) return refuseStopping();
      const ending = new AbortController();
      listeners.add(ending);
      return answerUntilEnd(open, () => listeners.delete(ending), ending.signal);
    },
    endListening: () => {
      isListeningOver = true;
      for (const { listeners } of byKey.values()) for (const ending of listeners) ending.abort();
    },
    close: async () => {
      clearInterval(following);
      await Promise.all([...byKey.values()].map(({ modern }) => modern.close()));
    },
  };

  /**
   * Closes the connections of the least recently used idle key. If no key is idle, more than
   * `mostKeys` stay open.
   */
  function closeIdle(current: KeyConnections): void {
    const idle = [...byKey.values()].find((one) => one !== current && isIdle(one));
    if (idle === undefined) return;
    byKey.delete(idle.key_print);
    void idle.modern.close();
  }

  function isIdle({ key_print, listeners }: KeyConnections): boolean {
    return listeners.size + limits.count(key_print) + sessions.count(key_print) === 0;
  }
}

function openConnections(
  caller: IdentifiedCaller,
  key_print: string,
  options: ConnectionOptions & SharedLimits,
): KeyConnections {
  const { toolbox, createKeyContext, createServer, createFastCalls, onError, sessions } = options;
  const keyContext = createKeyContext(caller, {
    onChange: () => visible.onChange(),
    onListed: () => visible.onListed(),
  });
  const modern = createMcpHandler(() => createServer(keyContext), {
    legacy: "reject",
    // `canListen` already limits the number of streams.
    maxSubscriptions: Infinity,
    onerror: onError,
  });
  const visible = watchVisible(toolbox, keyContext, () => {
    modern.notify.toolsChanged();
    sessions.notifyToolsChanged(key_print);
  });
  return {
    key_print,
    openServer: () => {
      const fast = createFastCalls(keyContext);
      return { server: createServer(keyContext, fast.admit), fast };
    },
    modern,
    listeners: new Set(),
    renew: () => keyContext.renew(),
  };
}
