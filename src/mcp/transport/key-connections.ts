import {
  createMcpHandler,
  type McpHttpHandler,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { KnownKey } from "../../contract/access.ts";
import type { Clock, SetAlarm } from "../../contract/clock.ts";
import { printKey, type KeyContext, type VisibleListeners } from "../access/key-context.ts";
import { watchVisible, type Toolbox } from "../tools/toolbox.ts";
import { createWorkLine } from "./call-limits.ts";
import { trackDirect, type DirectCalls, type DirectWay } from "./direct-calls.ts";
import { createSessions, type Sessions } from "./earlier-sessions.ts";
import { trackInFlight, type InFlight } from "./in-flight.ts";
import type { Line } from "./line.ts";
import { anyIds } from "./open-ids.ts";
import { writeHeaders } from "./plain-post.ts";
import type { SessionLimits } from "./session-limits.ts";

/** A caller that was identified: the API key that its calls use, and what is known of that key. */
export type IdentifiedCaller = { readonly key: string | undefined; readonly known: KnownKey };

/** Nothing of one key's connections is ever shared with another key. */
export type KeyConnections = {
  readonly key_print: string;
  readonly modern: McpHttpHandler;
  readonly sessions: Sessions;
  /** For calls that belong to no session, and need no server. */
  readonly direct: DirectWay;
  /** Exchanges that are going to be answered, and those that only listen. */
  readonly calls: InFlight<object>;
  /** In which its calls wait for their turn. */
  readonly work: Line;
  readonly listeners: InFlight<object>;
  /** Takes over what the service knows of the key by now, and tells who listens. */
  readonly renew: () => Promise<void>;
};

export type ConnectionOptions = {
  readonly toolbox: Toolbox;
  readonly createKeyContext: (caller: IdentifiedCaller, listeners: VisibleListeners) => KeyContext;
  readonly createServer: (keyContext: KeyContext, direct: Admits) => Server;
  readonly createDirectCalls: (keyContext: KeyContext) => Admits & DirectCalls;
  readonly clock: Clock;
  readonly setAlarm: SetAlarm;
  readonly limits: SessionLimits;
  readonly onError: (error: unknown) => void;
};

/** Learns of each call that the SDK lets through. */
type Admits = {
  readonly admit: (server: Server, context: ServerContext, headers?: string) => void;
};

export type Connections = {
  readonly find: (caller: IdentifiedCaller) => KeyConnections;
  readonly measure: () => ConnectionMeasures;
  readonly close: () => Promise<void>;
};

/** Sessions of earlier revisions, streams of notifications, and exchanges to be answered. */
export type ConnectionMeasures = Readonly<Record<"sessions" | "streams" | "calls", number>>;

const mostKeys = 1000;
/** Who listens hears of what other processes have changed, though nobody calls here. */
const followEvery_ms = 1000;

export function createConnections(options: ConnectionOptions): Connections {
  // The key that was used last stands last.
  const byKey = new Map<string, KeyConnections>();
  const following = setInterval(() => {
    for (const { listeners, renew } of byKey.values()) if (listeners.count() > 0) void renew();
  }, followEvery_ms).unref();

  return {
    find: (caller) => {
      const key_print = printKey(caller.key);
      const found = byKey.get(key_print) ?? openConnections(caller, key_print, options);
      byKey.delete(key_print);
      byKey.set(key_print, found);
      if (byKey.size > mostKeys) closeIdle(found);
      return found;
    },
    measure: () => {
      const all = [...byKey.values()];
      const sum = (read: (one: KeyConnections) => number) =>
        all.reduce((total, one) => total + read(one), 0);
      return {
        sessions: sum(({ sessions }) => sessions.count()),
        streams: sum(({ listeners }) => listeners.count()),
        calls: sum(({ calls }) => calls.count()),
      };
    },
    close: async () => {
      clearInterval(following);
      await Promise.all([...byKey.values()].map(close));
    },
  };

  /** Where every key is in use, more than `mostKeys` stay open. */
  function closeIdle(current: KeyConnections): void {
    const [print, idle] = [...byKey].find(([, one]) => one !== current && isIdle(one)) ?? [];
    if (print === undefined || idle === undefined) return;
    byKey.delete(print);
    void close(idle);
  }
}

function isIdle({ sessions, calls, listeners }: KeyConnections): boolean {
  return calls.count() + listeners.count() + sessions.count() === 0;
}

function openConnections(
  caller: IdentifiedCaller,
  key_print: string,
  options: ConnectionOptions,
): KeyConnections {
  const { toolbox, createKeyContext, createServer, createDirectCalls, onError } = options;
  const keyContext = createKeyContext(caller, {
    onChange: () => visible.onChange(),
    onListed: () => visible.onListed(),
  });
  const createOver = (direct: Admits) => {
    return createServer(keyContext, {
      admit: (server, context) => direct.admit(server, context, readHeaders(context)),
    });
  };
  const ofModern = createDirectCalls(keyContext);
  const modern = createMcpHandler(() => createOver(ofModern), {
    legacy: "reject",
    // `limits` refuses what is too much.
    maxSubscriptions: Infinity,
    onerror: onError,
  });
  const sessions = createSessions(() => {
    const direct = createDirectCalls(keyContext);
    return { server: createOver(direct), direct };
  }, options);
  const visible = watchVisible(toolbox, keyContext, () => {
    modern.notify.toolsChanged();
    sessions.notifyToolsChanged();
  });
  // Many clients call here, each with ids of its own.
  const tracked = trackDirect(ofModern, () => Symbol("call"));
  return {
    key_print,
    modern,
    sessions,
    direct: {
      session: undefined,
      calls: tracked,
      ids: anyIds,
      use: { begin: () => {}, end: () => {} },
    },
    calls: trackInFlight(),
    work: createWorkLine(options.setAlarm),
    listeners: trackInFlight(),
    renew: () => keyContext.renew(),
  };
}

/** Of the request that a call came with. */
function readHeaders({ http }: ServerContext): string {
  const headers = http?.req?.headers;
  return writeHeaders((name) => headers?.get(name));
}

async function close({ modern, sessions, direct }: KeyConnections): Promise<void> {
  direct.calls.cancelAll();
  await Promise.all([modern.close(), sessions.close()]);
}
