import { lookup } from "node:dns/promises";
import { request, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { request as requestOverTls } from "node:https";
import type { LookupFunction } from "node:net";
import type { SetAlarm } from "../../contract/clock.ts";

/**
 * Connects to hosts that untrusted users name, without reaching private networks. A name is looked
 * up once, every address must be allowed, and the connection uses one of these addresses. A second
 * lookup could return other addresses and bypass the check.
 */

/** How host names are resolved, and which addresses are allowed. */
export type Reach = {
  /** Returns every address of a host name. */
  readonly resolve: (hostname: string) => Promise<readonly string[]>;
  /** Whether connections to an address are allowed: usually, whether it is public. */
  readonly isPublic: (address: string) => boolean;
  /** The accepted certificate authorities; by default, those of the machine. */
  readonly authorities?: readonly string[];
};

/** Thrown if a host may not be reached. The message completes a sentence for users. */
export class HostNotAllowed extends Error {
  override readonly name = "HostNotAllowed";
}

/** The message for hosts without an address, or with one that is not allowed. */
export const noPublicHost = "the host has no public address";

const mostHeaders_bytes = 16 * 1024;

/** Returns all addresses of the URL's host. Throws HostNotAllowed if one of them is not allowed. */
export async function findAddresses(
  { hostname }: Pick<URL, "hostname">,
  { resolve, isPublic }: Reach,
  signal: AbortSignal,
): Promise<readonly [string, ...string[]]> {
  const literal = /^\[(.*)\]$/.exec(hostname)?.[1] ?? hostname;
  const found = resolve(literal).catch(() => []);
  const [address, ...others] = await orAborted(found, signal);
  // One private address among public ones could bypass the check. The error is the same for unknown
  // hosts, so that it does not reveal the names in a private network.
  const isAllowed = address !== undefined && [address, ...others].every(isPublic);
  if (!isAllowed) throw new HostNotAllowed(noPublicHost);
  return [address, ...others];
}

/** Limits the attempts, because a host may have many addresses. */
const mostTried = 4;
/**
 * After a second, the next address is tried as well. The last one has all the remaining time. Node
 * passes these options on to `net.connect`, although the types of its requests omit them.
 */
const tryAddresses = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 1000 };

type PinnedRequest = {
  readonly url: URL;
  readonly method?: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body?: string;
};

/**
 * Sends a request to one of these addresses and returns the beginning of its response, which the
 * caller must destroy. It tries several addresses, because this machine may lack IPv4 or IPv6.
 */
export function sendPinned(
  { url, body, ...options }: PinnedRequest,
  addresses: readonly string[],
  { authorities }: Pick<Reach, "authorities">,
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
    // Node reports no error when it closes the connection of a server that switches protocols.
    sent.once("close", () => reject(new Error("closed"))).end(body);
  });
}

/** Combines a caller's signal with a time limit. */
export function limitTime(outer: AbortSignal, most_ms: number, setAlarm: SetAlarm) {
  const over = new AbortController();
  const stop = setAlarm(most_ms, () => over.abort());
  const signal = AbortSignal.any([outer, over.signal]);
  return { signal, stop, isOver: () => over.signal.aborted };
}

/** Looks up a name with the machine's resolver. */
export async function resolveHost(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true, verbatim: true });
  return found.map(({ address }) => address);
}

/**
 * Explains why a request failed. Never uses the error's own text, which may come from the other
 * server.
 */
export function describeEnd(error: unknown, signal: AbortSignal): string {
  if (error instanceof HostNotAllowed) return error.message;
  if (signal.aborted) return "the server did not respond in time";
  const code = readErrorCode(error);
  if (code === "ECONNREFUSED") return "the connection was refused";
  if (isCertificateFault(code)) return "its certificate is invalid";
  return "the response could not be read";
}

/** If several addresses failed, an error other than a missing route explains more. */
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
 * Certificate errors that do not match the pattern above. `UNSPECIFIED` is Node's code for errors
 * without a name.
 */
const otherFaults: ReadonlySet<string> = new Set([
  "INVALID_CA",
  "INVALID_PURPOSE",
  "PATH_LENGTH_EXCEEDED",
  "HOSTNAME_MISMATCH",
  "UNSPECIFIED",
  // The other side does not use TLS.
  "EPROTO",
]);

/** A lookup cannot be stopped, but its caller can stop waiting. */
function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new Error("aborted"));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/**
 * Answers lookups with known addresses, but never synchronously. If a connection failed
 * synchronously, `node:https` would have no error listener yet, and the error would end the
 * process.
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
