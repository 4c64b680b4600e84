import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import type { SetAlarm } from "../../contract/clock.ts";
import {
  findAddresses,
  HostNotAllowed,
  isCertificateFault,
  isMissingRoute,
  limitTime,
  readErrorCode,
  sendPinned,
  type HostPolicy,
} from "./pinned-connection.ts";

/**
 * Fetches a file from a public host over HTTPS. Limits its time and size, and does not follow
 * redirects. Connects only to IP addresses that were checked before.
 */

export type FetchedFile =
  | ({ readonly kind: "answered" } & FileAnswer)
  /** The host does not exist, or its IP address is not public. */
  | { readonly kind: "not_public" }
  /** This machine has no route to any of the host's IP addresses. */
  | { readonly kind: "unreachable" }
  | { readonly kind: "refused" | "timed_out" | "unreadable" }
  /** The TLS certificate is not trusted. The code is Node's error code. */
  | { readonly kind: "untrusted"; readonly code: string };

export type FileAnswer = {
  readonly status: number;
  /** Names are lowercase. If a header is repeated, only its first value is kept. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  /** True if the file was cut off because it is larger than the limit. */
  readonly isCut: boolean;
  /** When the host's certificate expires, in milliseconds since 1970. */
  readonly certifiedUntil: number;
};

export type FileRequest = {
  /** Without a port, because requests always use HTTPS on port 443. */
  readonly hostname: string;
  readonly path: string;
  readonly agent: string;
  readonly most_bytes: number;
};

export type FetchFile = (file: FileRequest, signal: AbortSignal) => Promise<FetchedFile>;

export type PublicFiles = {
  readonly fetchFile: FetchFile;
  /**
   * Counts a request to a host. Returns false if the key has reached its hourly limit for such
   * requests.
   */
  readonly mayAsk: (keyPrint: string) => Promise<boolean>;
};

type FetchOptions = {
  readonly policy: HostPolicy;
  readonly setAlarm: SetAlarm;
  /** The port of a test server. The default is 443. */
  readonly port?: number;
};

/** The time limit for DNS lookup, connection and content together. */
const most_ms = 10_000;

export function createFetchFile({ policy, setAlarm, port = 443 }: FetchOptions): FetchFile {
  return async ({ hostname, path, agent, most_bytes }, signal) => {
    const { signal: ending, stop, isOver } = limitTime(signal, most_ms, setAlarm);
    let response: IncomingMessage | undefined;
    try {
      const addresses = await findAddresses({ hostname }, policy, ending);
      const url = new URL(path, `https://${hostname}:${port}`);
      const headers = { "user-agent": agent, accept: "*/*", "accept-encoding": "identity" };
      response = await sendPinned({ url, headers }, addresses, policy, ending);
      const certifiedUntil = readCertificateEnd(response);
      const body = await readBeginning(response, most_bytes);
      const { statusCode: status = 0 } = response;
      return { kind: "answered", status, headers: readHeaders(response), ...body, certifiedUntil };
    } catch (error) {
      signal.throwIfAborted();
      return explainEnd(error, isOver());
    } finally {
      stop();
      response?.destroy();
    }
  };
}

async function readBeginning(
  response: IncomingMessage,
  most: number,
): Promise<Pick<FileAnswer, "body" | "isCut">> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop closes the connection.
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
  // The cast is safe, because an HTTPS request always uses a TLS socket.
  return Date.parse((socket as TLSSocket).getPeerCertificate().valid_to);
}

/** Never uses the error's own message, which may come from the other server. */
function explainEnd(error: unknown, isOver: boolean): FetchedFile {
  if (error instanceof HostNotAllowed) return { kind: "not_public" };
  const code = readErrorCode(error);
  if (isOver || code === "ETIMEDOUT") return { kind: "timed_out" };
  if (isMissingRoute(code)) return { kind: "unreachable" };
  if (isCertificateFault(code)) return { kind: "untrusted", code };
  return { kind: code === "ECONNREFUSED" ? "refused" : "unreadable" };
}
