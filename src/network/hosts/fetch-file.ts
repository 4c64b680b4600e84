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
  NotAsked,
  readErrorCode,
  type Reach,
} from "./pinned-connection.ts";

/**
 * Gets a file of a public host over https, as a stranger does that follows no redirect: within
 * bounds of time and size, and from one of the addresses that were looked at before.
 */

export type FetchedFile =
  | ({ readonly kind: "answered" } & FileAnswer)
  /** There is no such name, or it is none of the public internet. */
  | { readonly kind: "not_public" }
  /** No way leads from this machine to any of its addresses. */
  | { readonly kind: "unreachable" }
  | { readonly kind: "refused" | "timed_out" | "unreadable" }
  /** No connection that can be trusted; the code is Node's. */
  | { readonly kind: "untrusted"; readonly code: string };

export type FileAnswer = {
  readonly status: number;
  /** Names in lower case; of one that came several times, the first. */
  readonly headers: ReadonlyMap<string, string>;
  /** As much of it as was asked for. */
  readonly body: Buffer;
  /** Whether there was more. */
  readonly isCut: boolean;
  /** When the host's certificate ends, in milliseconds since 1970. */
  readonly certifiedUntil: number;
};

export type FileAsked = {
  /** Without a port: it is the one of https. */
  readonly hostname: string;
  readonly path: string;
  /** Who asks. */
  readonly agent: string;
  readonly most_bytes: number;
};

export type FetchFile = (asked: FileAsked, signal: AbortSignal) => Promise<FetchedFile>;

/** As composition hands it in. */
export type PublicFiles = {
  readonly fetchFile: FetchFile;
  /** False where the key has had as many hosts asked as it may in an hour. */
  readonly mayAsk: (keyPrint: string) => Promise<boolean>;
};

type Options = {
  readonly reach: Reach;
  readonly setAlarm: SetAlarm;
  /** Where a test listens; left out, 443. */
  readonly port?: number;
};

/** For all of it: the name, the connection and the last byte. */
const most_ms = 10_000;
const mostAddresses = 4;

export function createFetchFile({ reach, setAlarm, port = 443 }: Options): FetchFile {
  return async (asked, signal) => {
    const { signal: ending, stop, isOver } = limitTime(signal, most_ms, setAlarm);
    try {
      const addresses = await findAddresses(asked, reach, ending);
      return await getFromOne(addresses, { asked, ending });
    } catch (error) {
      signal.throwIfAborted();
      return explainEnd(error, isOver());
    } finally {
      stop();
    }
  };

  /** A host may have addresses of a kind that this machine does not reach. */
  async function getFromOne(addresses: readonly string[], getting: Getting): Promise<FetchedFile> {
    let failure: unknown;
    for (const address of addresses.slice(0, mostAddresses)) {
      try {
        return { kind: "answered", ...(await get(address, getting)) };
      } catch (error) {
        // Of an address that no way leads to there is less to say than of another.
        if (failure === undefined || noWay.has(readErrorCode(failure))) failure = error;
        if (!unreached.has(readErrorCode(error))) break;
      }
    }
    throw failure;
  }

  async function get(address: string, { asked, ending }: Getting): Promise<FileAnswer> {
    const { hostname, path, agent, most_bytes } = asked;
    const sent = request({
      hostname,
      port,
      path,
      // One connection for one file, which goes where it was looked at.
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

type Getting = { readonly asked: FileAsked; readonly ending: AbortSignal };

const noWay: ReadonlySet<string> = new Set(["EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL"]);

/** With these another address of the same host may be reached. */
const unreached: ReadonlySet<string> = new Set([...noWay, "ECONNREFUSED", "ETIMEDOUT"]);

async function readBeginning(
  response: IncomingMessage,
  most: number,
): Promise<Pick<FileAnswer, "body" | "isCut">> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Whoever stops reading ends the connection.
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

/** Never the error's own words: they may be a stranger's. */
function explainEnd(error: unknown, isOver: boolean): FetchedFile {
  if (error instanceof NotAsked) return { kind: "not_public" };
  const code = readErrorCode(error);
  if (isOver || code === "ETIMEDOUT") return { kind: "timed_out" };
  if (noWay.has(code)) return { kind: "unreachable" };
  if (isCertificateFault(code) || code === "EPROTO") return { kind: "untrusted", code };
  return { kind: code === "ECONNREFUSED" ? "refused" : "unreadable" };
}
