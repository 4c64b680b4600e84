import { createMcpHandler, type McpHttpHandler, type Server } from "@modelcontextprotocol/server";
import type { Clock } from "../../contract/clock.ts";
import { printKey, type KnownKey, type Surface } from "../access/key-context.ts";
import { watchVisible, type Toolbox } from "../tools/toolbox.ts";
import { createRunning, type Running } from "./in-flight.ts";
import { createSessions, type Sessions } from "./legacy-sessions.ts";

/** A caller that was let in: the API key that acts for it, and what is known of that key. */
export type Caller = { readonly key: string | undefined; readonly known: KnownKey };

/** What one key has here: nothing of it is ever shared with another key. */
export type Door = {
  readonly modern: McpHttpHandler;
  readonly sessions: Sessions;
  /** Exchanges that are going to be answered, and those that only listen. */
  readonly calls: Running<object>;
  readonly listeners: Running<object>;
};

export type DoorOptions = {
  readonly toolbox: Toolbox;
  readonly createSurface: (caller: Caller, onChange: () => void) => Surface;
  readonly createServer: (surface: Surface) => Server;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
};

export type Doors = {
  readonly find: (caller: Caller) => Door;
  readonly settle: (patience_ms: number) => Promise<void>;
  readonly close: () => Promise<void>;
};

const mostDoors = 1000;
/** Of one key, as with sessions. */
const mostSubscriptions = 100;

export function createDoors(options: DoorOptions): Doors {
  // The one that was used last stands last.
  const doors = new Map<string, Door>();

  return {
    find: (caller) => {
      const print = printKey(caller.key);
      const door = doors.get(print) ?? openDoor(caller, options);
      doors.delete(print);
      doors.set(print, door);
      if (doors.size > mostDoors) closeIdle(door);
      return door;
    },
    settle: async (patience_ms) => {
      await Promise.all([...doors.values()].map(({ calls }) => calls.settle(patience_ms)));
    },
    close: async () => {
      await Promise.all([...doors.values()].map(close));
    },
  };

  /** Where nobody is behind any of them, there are more than that. */
  function closeIdle(current: Door): void {
    const idle = [...doors].find(([, door]) => door !== current && isIdle(door));
    if (idle === undefined) return;
    doors.delete(idle[0]);
    void close(idle[1]);
  }
}

function isIdle({ sessions, calls, listeners }: Door): boolean {
  return calls.count() + listeners.count() + sessions.count() === 0;
}

function openDoor(caller: Caller, options: DoorOptions): Door {
  const { toolbox, createSurface, createServer, clock, onError } = options;
  const surface = createSurface(caller, () => onChange());
  const create = () => createServer(surface);
  const modern = createMcpHandler(create, {
    legacy: "reject",
    maxSubscriptions: mostSubscriptions,
    onerror: onError,
  });
  const sessions = createSessions(create, clock);
  const onChange = watchVisible(toolbox, surface, () => {
    modern.notify.toolsChanged();
    sessions.notifyToolsChanged();
  });
  return { modern, sessions, calls: createRunning(), listeners: createRunning() };
}

async function close({ modern, sessions }: Door): Promise<void> {
  await Promise.all([modern.close(), sessions.close()]);
}
