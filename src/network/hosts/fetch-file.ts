import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import type { TLSSocket } from "node:tls";
import type { SetAlarm } from "../../contract/clock.ts";
import { limitTime } from "./limit-time.ts";
import {
  answerAlways,
  findAddresses,
  isCertificateFault,
  mostHeaders_bytes,
  HostNotAllowed,
  readErrorCode,
  type Reach,
} from "./pinned-connection.ts";

/**
 * Gets a file from a public host over https, with limits of time and size, and without following
 * redirects. It connects only to addresses that were checked before.
 */

export type FetchedFile =
  | ({ readonly kind: "answered" } & FileAnswer)
  /** The name does not exist, or its address is not public. */
  | { readonly kind: "not_public" }
  /** This machine has no route to any of its addresses. */
  | { readonly kind: "unreachable" }
  | { readonly kind: "refused" | "timed_out" | "unreadable" }
  /** The connection cannot be trusted. The code is Node's. */
  | { readonly kind: "untrusted"; readonly code: string };

export type FileAnswer = {
  readonly status: number;
  /** Names in lower case; the first value of repeated headers. */
  readonly headers: ReadonlyMap<string, string>;
  /** The content up to the requested size. */
  readonly body: Buffer;
  /** Whether the file is longer. */
  readonly isCut: boolean;
  /** When the host's certificate expires, in milliseconds since 1970. */
  readonly certifiedUntil: number;
};

export type FileRequest = {
  /** Without a port, which is always that of https. */
  readonly hostname: string;
  readonly path: string;
  /** The User-Agent header. */
  readonly agent: string;
  readonly most_bytes: number;
};

export type FetchFile = (asked: FileRequest, signal: AbortSignal) => Promise<FetchedFile>;

/** The dependencies that checks of hosts get. */
export type PublicFiles = {
  readonly fetchFile: FetchFile;
  /** False if the key has reached its hourly limit of checked hosts. */
  readonly mayAsk: (keyPrint: string) => Promise<boolean>;
};

type FetchOptions = {
  readonly reach: Reach;
  readonly setAlarm: SetAlarm;
  /** The port of a test server; 443 by default. */
  readonly port?: number;
};

/** The limit for name lookup, connection and content together. */
const most_ms = 10_000;
const mostAddresses = 4;

export function createFetchFile({ reach, setAlarm, port = 443 }: FetchOptions): FetchFile {
  return async (asked, signal) => {
    const { signal: ending, stop, isOver } = limitTime(signal, most_ms, setAlarm);
    try {
      const addresses = await findAddresses(asked, reach, ending);
      return await getFromOne(addresses, asked, ending);
    } catch (error) {
      signal.throwIfAborted();
      return explainEnd(error, isOver());
    } finally {
      stop();
    }
  };

  /** Tries several addresses, because this machine may not reach all kinds of them. */
  async function getFromOne(
    addresses: readonly string[],
    asked: FileRequest,
    ending: AbortSignal,
  ): Promise<FetchedFile> {
    let failure: unknown;
    for (const address of addresses.slice(0, mostAddresses)) {
      try {
        return { kind: "answered", ...(await get(address, asked, ending)) };
      } catch (error) {
        // A missing route says less than any other error, so another error replaces it.
        if (failure === undefined || noWay.has(readErrorCode(failure))) failure = error;
        if (!unreached.has(readErrorCode(error))) break;
      }
    }
    throw failure;
  }

  async function get(
    address: string,
    asked: FileRequest,
    ending: AbortSignal,
  ): Promise<FileAnswer> {
    const { hostname, path, agent, most_bytes } = asked;
    const sent = request({
      hostname,
      port,
      path,
      // One connection for one file, to the address that was checked.
      agent: false,
      lookup: answerAlways(address),
      headers: { "user-agent": agent, accept: "*/*", "accept-encoding": "identity" },
      maxHeaderSize: mostHeaders_bytes,
      signal: ending,
      ...(reach.authorities && { ca: [...reach.authorities] }),
    });
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      sent.once("response", resolve).on("error", reject).end();
    });
    try {
      const certifiedUntil = readCertificateEnd(response);
      const body = await readBeginning(response, most_bytes);
      const { statusCode: status = 0 } = response;
      return { status, headers: readHeaders(response), ...body, certifiedUntil };
    } finally {
      sent.destroy();
    }
  }
}

const noWay: ReadonlySet<string> = new Set(["EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL"]);

/** After these errors, another address of the host may work. */
const unreached: ReadonlySet<string> = new Set([...noWay, "ECONNREFUSED", "ETIMEDOUT"]);

async function readBeginning(
  response: IncomingMessage,
  most: number,
): Promise<Pick<FileAnswer, "body" | "isCut">> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop ends the connection.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > most) break;
  }
  return { body: Buffer.concat(chunks).subarray(0, most), isCut: size > most };
}

function readHeaders({ headersDistinct }: IncomingMessage): ReadonlyMap<string, string> {
  const entries = Object.entries(headersDistinct);
  return new Map(entries.map(([name, [value = ""] = []]) => [name, value]));
}

function readCertificateEnd({ socket }: IncomingMessage): number {
  // A request over https has no other socket.
  return Date.parse((socket as TLSSocket).getPeerCertificate().valid_to);
}

/** Never uses the error's own text, which may come from the other server. */
function explainEnd(error: unknown, isOver: boolean): FetchedFile {
  if (error instanceof HostNotAllowed) return { kind: "not_public" };
  const code = readErrorCode(error);
  if (isOver || code === "ETIMEDOUT") return { kind: "timed_out" };
  if (noWay.has(code)) return { kind: "unreachable" };
  if (isCertificateFault(code) || code === "EPROTO") return { kind: "untrusted", code };
  return { kind: code === "ECONNREFUSED" ? "refused" : "unreadable" };
}
