import { createServer, STATUS_CODES, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { text as readText } from "node:stream/consumers";
import type { ApiReply } from "../../../src/contract/api-message.ts";
import { idParameter, type Endpoint } from "../../../src/contract/endpoint.ts";
import { apiPrefix } from "../../../src/contract/index.ts";
import { openServer } from "../../support/ports.ts";
import type { World } from "../../support/world.ts";

/**
 * An HTTP server in front of a real service. It returns wrong responses for one endpoint, written
 * byte by byte so that no library corrects them.
 */
export type MisbehavingDeployment = {
  readonly origin: string;
  /** From now on, only this endpoint misbehaves. */
  readonly misbehave: (endpoint: Endpoint, misdeed: Misdeed) => void;
  /** The requests to the misbehaving endpoint that the service has accepted. */
  readonly accepted: readonly string[];
  /** Counts the requests to the misbehaving endpoint. */
  readonly countRequests: () => number;
  /** Requests that followed a redirect, which a client must never do. */
  readonly strayed: readonly string[];
  /** Errors in the test's own code. */
  readonly reported: readonly unknown[];
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export type Misdeed = {
  /** A response that is sent without calling the service. */
  readonly instead?: RawReply;
  /** Changes the service's response. */
  readonly alter?: (reply: RawReply) => RawReply;
  /** The number of affected responses. By default, all responses are affected. */
  readonly times?: number;
};

export type RawReply = {
  readonly status: number;
  /** A missing Content-Length is added. Headers with empty values are omitted. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | Buffer;
  /** Whether the connection ends in the middle of the body. */
  readonly isCut?: true;
};

export const strayPath = "/elsewhere";

export async function openMisbehaving(world: World): Promise<MisbehavingDeployment> {
  const accepted: string[] = [];
  const strayed: string[] = [];
  const reported: unknown[] = [];
  let asked = 0;
  let meant = /^$/;
  let misdeed: Misdeed = {};

  const server = createServer((request) => {
    serve(request)
      .then((reply) => write(request.socket, reply))
      .catch((error: unknown) => {
        reported.push(error);
        request.socket.destroy();
      });
  });

  async function serve(request: IncomingMessage): Promise<RawReply> {
    const { method = "", url = "" } = request;
    const body = await readText(request);
    if (url.startsWith(strayPath)) strayed.push(`${method} ${url}`);
    const name = `${method} ${new URL(url, "http://x").pathname}`;
    const isAsked = meant.test(name);
    if (isAsked) asked += 1;
    const { instead, alter, times = Infinity } = isAsked ? misdeed : {};
    const isOver = asked > times;
    if (instead !== undefined && !isOver) return instead;
    const reply = await world.answer({
      method,
      url: `http://localhost:8787${url}`,
      headers: Object.fromEntries(
        Object.entries(request.headers).map(([header, value]) => [header, String(value)]),
      ),
      ...(body !== "" && { body }),
    });
    if (isAsked && reply.status < 300) accepted.push(`${name} ${reply.status}`);
    const honest = toRaw(reply);
    return alter === undefined || isOver ? honest : alter(honest);
  }

  const { url: origin, [Symbol.asyncDispose]: close } = await openServer(server);
  return {
    origin,
    misbehave: ({ method, path }, next) => {
      meant = new RegExp(`^${method} ${apiPrefix}${path.replace(idParameter, "[^/]+")}$`);
      misdeed = next;
      accepted.length = 0;
      asked = 0;
    },
    accepted,
    countRequests: () => asked,
    strayed,
    reported,
    [Symbol.asyncDispose]: close,
  };
}

function toRaw({ status, headers, body }: ApiReply): RawReply {
  const isText = headers["content-type"]?.startsWith("text/html") === true;
  const text = isText ? String(body) : JSON.stringify(body);
  return { status, headers: Object.entries(headers), body: body === null ? "" : text };
}

/** Bypasses the library's own writer, which would correct the response. */
function write(socket: Socket, { status, headers, body, isCut }: RawReply): void {
  const bytes = Buffer.from(body);
  const length = ["content-length", String(bytes.length)] as const;
  const hasLength = headers.some(([name]) => name === "content-length");
  const told = [...headers, ...(hasLength ? [] : [length]), ["connection", "close"] as const]
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Odd"}\r\n${told.join("")}\r\n`;
  if (isCut !== true) {
    socket.end(Buffer.concat([Buffer.from(head), bytes]));
    return;
  }
  const half = bytes.subarray(0, Math.ceil(bytes.length / 2));
  socket.write(Buffer.concat([Buffer.from(head), half]), () => socket.destroy());
}
