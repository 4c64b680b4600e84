import {
  createMcpHandler,
  hostHeaderValidationResponse,
  isLegacyRequest,
  originValidationResponse,
  type McpHttpHandler,
  type Server,
} from "@modelcontextprotocol/server";
import type { Clock } from "../contract/world.ts";
import { createSessions, type Sessions } from "./sessions.ts";
import type { KnownKey } from "./surface.ts";
import { printKey } from "./surface.ts";
import { watchVisible, type Toolbox } from "./toolbox.ts";
import type { Surface } from "./tool.ts";

/** MCP over HTTP: whose request it is, and which revision of the protocol it speaks. */
export type McpHttp = {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly close: () => Promise<void>;
};

/** A caller that was let in: the API key that acts for it, and what is known of that key. */
export type Caller = { readonly key: string | undefined; readonly known: KnownKey };

export type HttpOptions = {
  readonly toolbox: Toolbox;
  /** Who shows this bearer token, or undefined for nobody. */
  readonly identify: (token: string) => Promise<Caller | undefined>;
  readonly createSurface: (caller: Caller, onChange: () => void) => Surface;
  readonly createServer: (surface: Surface) => Server;
  /** The host names that this server answers to; a page elsewhere could name any other. */
  readonly hostnames: readonly string[];
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
};

/** What one key has here. */
type Door = {
  readonly modern: McpHttpHandler;
  readonly sessions: Sessions;
};

const mostDoors = 1000;

export function createMcpHttp(options: HttpOptions): McpHttp {
  const { identify, hostnames } = options;
  // The one that was used last stands last.
  const doors = new Map<string, Door>();

  return {
    fetch: async (request) => {
      const refusal =
        hostHeaderValidationResponse(request, [...hostnames]) ??
        originValidationResponse(request, [...hostnames]);
      if (refusal !== undefined) return refusal;
      const token = readBearer(request);
      const caller = token === undefined ? undefined : await identify(token);
      if (caller === undefined) return refuseStranger(token !== undefined);
      const { modern, sessions } = findDoor(caller);
      return (await isLegacyRequest(request)) ? sessions.fetch(request) : modern.fetch(request);
    },
    close: async () => {
      await Promise.all([...doors.values()].map(close));
    },
  };

  function findDoor(caller: Caller): Door {
    const print = printKey(caller.key);
    const door = doors.get(print) ?? openDoor(caller, options);
    doors.delete(print);
    doors.set(print, door);
    if (doors.size > mostDoors) closeIdle();
    return door;
  }

  function closeIdle(): void {
    const idle = [...doors].find(([, { sessions }]) => sessions.count() === 0);
    if (idle === undefined) return;
    doors.delete(idle[0]);
    void close(idle[1]);
  }
}

function openDoor(caller: Caller, options: HttpOptions): Door {
  const { toolbox, createSurface, createServer, clock, onError } = options;
  const surface = createSurface(caller, () => onChange());
  const create = () => createServer(surface);
  const modern = createMcpHandler(create, { legacy: "reject", onerror: onError });
  const sessions = createSessions(create, clock);
  const onChange = watchVisible(toolbox, surface, () => {
    modern.notify.toolsChanged();
    sessions.notifyToolsChanged();
  });
  return { modern, sessions };
}

async function close({ modern, sessions }: Door): Promise<void> {
  await Promise.all([modern.close(), sessions.close()]);
}

function readBearer({ headers }: Request): string | undefined {
  const [, token] = /^bearer +([^\s,]+) *$/i.exec(headers.get("authorization") ?? "") ?? [];
  return token;
}

function refuseStranger(hasToken: boolean): Response {
  const message = hasToken
    ? "The token is not known here."
    : "A token is missing. Send it in the header Authorization: Bearer <token>.";
  const error = { code: -32001, message };
  const challenge = hasToken ? 'Bearer error="invalid_token"' : "Bearer";
  return Response.json(
    { jsonrpc: "2.0", id: null, error },
    { status: 401, headers: { "www-authenticate": challenge, "cache-control": "no-store" } },
  );
}
