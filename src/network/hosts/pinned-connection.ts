import { lookup } from "node:dns/promises";
import { request, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { request as requestOverTls } from "node:https";
import type { LookupFunction } from "node:net";
import type { SetAlarm } from "../../contract/clock.ts";

/**
 * Connects to hosts that untrusted users choose, without reaching private networks. A host name is
 * looked up only once, and all of its IP addresses must be allowed. The connection then uses one of
 * these addresses. A second lookup could return other addresses and so bypass the check.
 */

/** How host names are resolved, and which IP addresses are allowed. */
export type HostPolicy = {
  readonly resolve: (hostname: string) => Promise<readonly string[]>;
  /** Whether connections to an IP address are allowed. Usually only public addresses are. */
  readonly isPublic: (address: string) => boolean;
  /** The certificate authorities to accept. The default is the machine's own list. */
  readonly authorities?: readonly string[];
};

/** Thrown if connections to a host are not allowed. The message continues a sentence for users. */
export class HostNotAllowed extends Error {
  override readonly name = "HostNotAllowed";
}

/** The message if a host has no IP address, or one that is not allowed. */
export const noPublicHost = "the host has no public address";

const mostHeaders_bytes = 16 * 1024;

/**
 * Returns all IP addresses of a URL's host. Throws HostNotAllowed if any of them is not allowed.
 */
export async function findAddresses(
  { hostname }: Pick<URL, "hostname">,
  { resolve, isPublic }: HostPolicy,
  signal: AbortSignal,
): Promise<readonly [string, ...string[]]> {
  const literal = /^\[(.*)\]$/.exec(hostname)?.[1] ?? hostname;
  const found = resolve(literal).catch(() => []);
  const [address, ...others] = await orAborted(found, signal);
  // Every address must be public, because any of them may be used. Unknown hosts get the same
  // error, so that it does not reveal which names exist in a private network.
  const isAllowed = address !== undefined && [address, ...others].every(isPublic);
  if (!isAllowed) throw new HostNotAllowed(noPublicHost);
  return [address, ...others];
}

/** The maximum number of IP addresses to try. A host may have many more. */
const mostTried = 4;
/**
 * Tries the next IP address after a second, but waits for the last one until the time limit. Node
 * passes these options to `net.connect`, although its types for requests omit them.
 */
const tryAddresses = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 1000 };

type PinnedRequest = {
  readonly url: URL;
  readonly method?: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body?: string;
};

/**
 * Sends a request to one of these IP addresses. Tries several addresses, because this machine may
 * lack IPv4 or IPv6. The caller must destroy the returned response.
 */
export function sendPinned(
  { url, body, ...options }: PinnedRequest,
  addresses: readonly string[],
  { authorities }: Pick<HostPolicy, "authorities">,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const send = url.protocol === "http:" ? request : requestOverTls;
  const sent = send(url, {
    ...options,
    signal,
    agent: false,
    ...tryAddresses,
    lookup: answerAlways(addresses.slice(0, mostTried)),
    maxHeaderSize: mostHeaders_bytes,
    ...(authorities && { ca: [...authorities] }),
  });
  return new Promise((resolve, reject) => {
    sent.once("response", resolve).on("error", reject);
    // If the server switches protocols, Node closes the connection without an error.
    sent.once("close", () => reject(new Error("closed"))).end(body);
  });
}

/** Returns a signal that aborts when the caller's signal aborts or the time limit is reached. */
export function limitTime(outer: AbortSignal, most_ms: number, setAlarm: SetAlarm) {
  const over = new AbortController();
  const stop = setAlarm(most_ms, () => over.abort());
  const signal = AbortSignal.any([outer, over.signal]);
  return { signal, stop, isOver: () => over.signal.aborted };
}

/** Looks up a host name with the machine's own resolver. */
export async function resolveHost(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true, verbatim: true });
  return found.map(({ address }) => address);
}

/**
 * Explains why a request failed. Does not use the error's message, because it may contain text from
 * the server.
 */
export function describeEnd(error: unknown, signal: AbortSignal): string {
  if (error instanceof HostNotAllowed) return error.message;
  if (signal.aborted) return "the server did not respond in time";
  const code = readErrorCode(error);
  if (code === "ECONNREFUSED") return "the connection was refused";
  if (isCertificateFault(code)) return "its certificate is invalid";
  return "the response could not be read";
}

/** If several IP addresses failed, prefers any error to a missing route, which says less. */
export function readErrorCode(error: unknown): string {
  const errors = error instanceof AggregateError ? error.errors : [error];
  const codes = errors.map((each: { readonly code?: unknown } | null) => String(each?.code));
  return codes.find((code) => !isMissingRoute(code)) ?? codes[0] ?? "";
}

export function isMissingRoute(code: string): boolean {
  return code === "EHOSTUNREACH" || code === "ENETUNREACH" || code === "EADDRNOTAVAIL";
}

export function isCertificateFault(code: string): boolean {
  return /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_/.test(code) || otherFaults.has(code);
}

/**
 * Further codes of certificate errors. `UNSPECIFIED` is Node's code for an error without a name.
 */
const otherFaults: ReadonlySet<string> = new Set([
  "INVALID_CA",
  "INVALID_PURPOSE",
  "PATH_LENGTH_EXCEEDED",
  "HOSTNAME_MISMATCH",
  "UNSPECIFIED",
  // Node's error code if the server does not use TLS on this port.
  "EPROTO",
]);

/**
 * Rejects on abort. The DNS lookup itself cannot be stopped, but its caller need not wait for it.
 */
function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new Error("aborted"));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/**
 * Answers DNS lookups with known addresses, but not synchronously. Otherwise, a connection error
 * could occur before `node:https` has an error listener, and would crash the process.
 */
function answerAlways(addresses: readonly string[]): LookupFunction {
  const known = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  return (_hostname, options, callback) => {
    const [first] = known;
    setImmediate(() => {
      if (options.all === true) callback(null, known);
      else callback(null, first?.address ?? "", first?.family);
    });
  };
}
