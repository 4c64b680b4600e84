import { once } from "node:events";
import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { text as readText } from "node:stream/consumers";
import { apiPrefix } from "../../src/contract/index.ts";
import { messages } from "../../src/contract/messages.ts";
import { type Gate, waitUntil } from "./clock.ts";
import { openServer } from "./ports.ts";
import type { World } from "./world.ts";

/** Use this for clients of a remote server that misbehaves as the test has planned. */

/** A real server in front of a real service that applies the planned fault to each request. */
export type Hostile = {
  readonly origin: string;
  /** Sets the faults for the next writes and reads, in order. Later requests have none. */
  readonly plan: (faults: { readonly writes?: Faults; readonly reads?: Faults }) => void;
  /** Delays requests to matching URLs until the gate is opened. */
  readonly hold: (isMeant: (url: string) => boolean, gate: Gate) => void;
  /** Sets the server's clock ahead of the world's. */
  readonly setAhead: (milliseconds: number) => void;
  /** All requests that arrived, such as "POST /links". */
  readonly received: string[];
  /** The requests that reached the service, each with the status of its response. */
  readonly carriedOut: string[];
  readonly authorizations: (string | undefined)[];
  /** The requests that arrived at the host to which the redirects point. */
  readonly strayed: string[];
  readonly settle: () => Promise<void>;
  /** Waits until no client waits for a response. */
  readonly untilIdle: () => Promise<void>;
  readonly untilLeft: () => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export type Fault = FaultName | `${Exclude<FaultName, "late">} after` | "honest";
type Faults = readonly (Fault | Forgery)[];
export type FaultName = keyof typeof misdeeds;

/** A response that is written byte by byte, so that no library corrects it. */
export type Forgery = {
  readonly instead?: RawReply;
  readonly alter?: (reply: RawReply) => RawReply;
};

export type RawReply = {
  readonly status: number;
  /** A missing Content-Length is added. Headers with empty values are omitted. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | Buffer;
  /** Whether the connection ends in the middle of the body. */
  readonly isCut?: true;
};

type HostileResponse = Pick<RawReply, "status" | "headers"> & { readonly text: string };

type Scene = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The response of the service, or an example if the service did not get the request. */
  readonly answer: HostileResponse;
  readonly elsewhere: string;
  readonly onStall: () => void;
  readonly carryOut: () => Promise<unknown>;
};

export const stallHeader = "x-stalls";
const noAnswer: HostileResponse = { status: 200, headers: [], text: '{"id":"none"}' };
const json = { "content-type": "application/json" };

const misdeeds = {
  reset: ({ request }) => request.socket.resetAndDestroy(),
  close: ({ request }) => request.socket.destroy(),
  stall: ({ onStall }) => onStall(),
  /** Sends nothing, and carries the request out after the client has given up. */
  late: async ({ request, onStall, carryOut }) => {
    const closed = once(request.socket, "close");
    onStall();
    await closed;
    await carryOut();
  },
  /** The header shows the client that the rest never comes, so its timer may ring. */
  stall_body: ({ response, answer }) => {
    const length = Buffer.byteLength(answer.text) + 1;
    response.writeHead(answer.status, { ...json, "content-length": length, [stallHeader]: "1" });
    response.write(answer.text);
  },
  cut_length: ({ request, response, answer }) => {
    response.writeHead(answer.status, {
      ...json,
      "content-length": Buffer.byteLength(answer.text),
    });
    response.write(halve(answer.text), () => request.socket.destroy());
  },
  cut_chunked: ({ request, response, answer }) => {
    response.writeHead(answer.status, json);
    response.write(halve(answer.text), () => request.socket.destroy());
  },
  half_json: ({ response, answer }) => {
    response.writeHead(answer.status, json).end(halve(answer.text));
  },
  other_json: ({ response, answer }) => {
    response.writeHead(answer.status, json).end('{"links":{"id":7},"id":7}');
  },
  html_200: (scene) => answerHtml(scene, 200),
  html_201: (scene) => answerHtml(scene, 201),
  html_404: (scene) => answerHtml(scene, 404),
  html_502: (scene) => answerHtml(scene, 502),
  redirect: ({ request, response, elsewhere }) => {
    response.writeHead(307, { location: `${elsewhere}${request.url}` }).end();
  },
  huge: ({ response, answer }) => {
    response.writeHead(answer.status, json).end(`{"filler":"${"x".repeat(9 * 1024 * 1024)}"}`);
  },
  noise: ({ request }) => request.socket.end("\u0001\u0002 no HTTP at all\r\n\r\n"),
  /** Like `noise` and `failing`, but with the client's key in it. */
  echo_noise: ({ request }) => request.socket.end(`${request.headers.authorization}\r\n\r\n`),
  echo_401: (scene) => answerEcho(scene, 401),
  echo_500: (scene) => answerEcho(scene, 500),
  limited: ({ response }) => {
    response.writeHead(429, json).end(JSON.stringify({ error: messages.rate_limited }));
  },
  busy: ({ response }) => {
    const body = JSON.stringify({ error: messages.took_too_long });
    response.writeHead(503, { ...json, "retry-after": "1" }).end(body);
  },
  locked: ({ response }) => {
    const body = JSON.stringify({ error: messages.store_locked });
    response.writeHead(503, { ...json, "retry-after": "1" }).end(body);
  },
  failing: ({ response }) => {
    response.writeHead(500, json).end(JSON.stringify({ error: messages.internal("r-1") }));
  },
  /** After this status, a browser would send the request again. */
  misdirected: (scene) => answerHtml(scene, 421),
  odd_status: ({ request }) => request.socket.end("HTTP/1.1 799 Odd\r\ncontent-length: 0\r\n\r\n"),
} as const satisfies Record<string, (scene: Scene) => unknown>;

// The type lists exactly the keys of the object.
const misdeedNames = Object.keys(misdeeds) as FaultName[];

export const allFaults: readonly Fault[] = [
  "honest",
  ...misdeedNames,
  ...misdeedNames.filter((name) => name !== "late").map((name) => `${name} after` as const),
];

/** Faults where the response is valid but untrue, so that no client can detect it. */
export const falseResponses: ReadonlySet<Fault> = new Set([
  "limited after",
  "locked after",
  "echo_401 after",
  // A 2xx to a write means that it was carried out.
  ...(["cut_length", "cut_chunked", "half_json", "other_json"] as const),
  ...(["huge", "stall_body", "html_200", "html_201", "html_200 after", "html_201 after"] as const),
]);

export async function openHostile(
  world: Pick<World, "fetch" | "now">,
  onStall: () => void = () => undefined,
): Promise<Hostile> {
  const [received, carriedOut, strayed]: [string[], string[], string[]] = [[], [], []];
  const authorizations: (string | undefined)[] = [];
  const running = new Set<Promise<void>>();
  const unanswered = new Set<ServerResponse>();
  let ahead_ms = 0;
  const other = await openServer(
    createServer((request, response) => {
      strayed.push(nameRequest(request));
      response.end();
    }),
  );
  let held: { readonly isMeant: (url: string) => boolean; readonly gate: Gate } | undefined;
  let planned: Record<"writes" | "reads", (Fault | Forgery)[]> = { writes: [], reads: [] };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    received.push(nameRequest(request));
    unanswered.add(response);
    response.setHeader("date", new Date(world.now() + ahead_ms).toUTCString());
    response.once("close", () => unanswered.delete(response));
    authorizations.push(request.headers.authorization);
    const body = await readText(request);
    if (held?.isMeant(decodeURIComponent(request.url ?? "")) === true) await held.gate.opened;
    const fault = planned[isWrite(request) ? "writes" : "reads"].shift() ?? "honest";
    const carryOut = async (): Promise<HostileResponse> => {
      const answer = await forward(world, request, body);
      carriedOut.push(`${nameRequest(request)} ${answer.status}`);
      return answer;
    };
    if (typeof fault === "object") {
      writeRaw(request.socket, await forge(fault, carryOut));
      return;
    }
    const isCarriedOut = fault === "honest" || fault.endsWith(" after");
    const answer = isCarriedOut ? await carryOut() : noAnswer;
    if (fault === "honest") {
      response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(answer.text);
      return;
    }
    // Without " after", a fault is the name of its misdeed.
    const act: (scene: Scene) => unknown = misdeeds[fault.replace(/ after$/, "") as FaultName];
    // An empty response cannot be cut, so another one is used.
    const said = answer.text === "" ? noAnswer : answer;
    await act({
      request,
      response,
      answer: said,
      elsewhere: other.url,
      onStall,
      carryOut,
    });
  }

  const own = await openServer(
    createServer((request, response) => {
      const serving = serve(request, response).finally(() => running.delete(serving));
      running.add(serving);
    }),
  );
  return {
    origin: own.url,
    plan: ({ writes = [], reads = [] }) => {
      planned = { writes: [...writes], reads: [...reads] };
    },
    hold: (isMeant, gate) => {
      held = { isMeant, gate };
    },
    setAhead: (milliseconds) => {
      ahead_ms = milliseconds;
    },
    received,
    carriedOut,
    authorizations,
    strayed,
    settle: async () => {
      await Promise.all(running);
    },
    untilIdle: () => waitUntil(() => unanswered.size === 0),
    untilLeft: () => waitUntil(async () => (await countConnections(own.server)) === 0),
    [Symbol.asyncDispose]: async () => {
      held?.gate.open();
      await Promise.all([own, other].map((server) => server[Symbol.asyncDispose]()));
      await Promise.all(running);
    },
  };
}

function countConnections(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });
}

async function forward(
  world: Pick<World, "fetch">,
  { method = "GET", url = "/", headers }: IncomingMessage,
  body: string,
): Promise<HostileResponse> {
  const { authorization, "content-type": type } = headers;
  const request = new Request(new URL(url, "http://localhost:8787"), {
    method,
    headers: {
      ...(authorization !== undefined && { authorization }),
      ...(type !== undefined && { "content-type": type }),
    },
    ...(body !== "" && { body }),
  });
  const response = await world.fetch(request);
  return { status: response.status, headers: [...response.headers], text: await response.text() };
}

async function forge(
  { instead, alter = (reply) => reply }: Forgery,
  carryOut: () => Promise<HostileResponse>,
): Promise<RawReply> {
  if (instead !== undefined) return instead;
  const { text: body, ...answer } = await carryOut();
  return alter({ ...answer, body });
}

/** Bypasses the library's own writer, which would correct the response. */
function writeRaw(socket: Socket, { status, headers, body, isCut }: RawReply): void {
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

function nameRequest({ method, url = "" }: IncomingMessage): string {
  const [path = ""] = url.replace(apiPrefix, "").split("?");
  return `${method} ${path}`;
}

function isWrite({ method, url = "" }: IncomingMessage): boolean {
  return method !== "GET" && !url.endsWith("/short_links/resolve");
}

function answerHtml({ response }: Scene, status: number): void {
  response.writeHead(status, { "content-type": "text/html" }).end("<h1>Sign in</h1>");
}

function answerEcho({ request, response }: Scene, status: number): void {
  const error = `Who are you, ${request.headers.authorization}?`;
  response.writeHead(status, json).end(JSON.stringify({ error }));
}

function halve(text: string): string {
  return text.slice(0, Math.ceil(text.length / 2));
}
