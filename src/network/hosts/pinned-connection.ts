import { lookup } from "node:dns/promises";
import type { LookupFunction } from "node:net";
import { Agent } from "undici";

/**
 * Connections to hosts that strangers name, which reach nothing that they must not: a name is
 * looked up once, every address that it has must be allowed, and the connection goes to one of
 * those that were looked at. To look it up again would be the way around the rule.
 */

/** Which addresses may be connected to, and how they are found. */
export type Reach = {
  /** Every address of a host's name. */
  readonly resolve: (hostname: string) => Promise<readonly string[]>;
  /** Whether an address is of the public internet, or else one that may be reached. */
  readonly isPublic: (address: string) => boolean;
  /** Whose certificates count; left out, those that the machine trusts. */
  readonly authorities?: readonly string[];
};

/** What may not be asked. The message is for people, as the end of a sentence. */
export class NotAsked extends Error {
  override readonly name = "NotAsked";
}

/** Why nothing is asked of a host with no address, or with one that may not be connected to. */
export const noPublicHost = "the host has no public address";

export const mostHeaders_bytes = 16 * 1024;

/** All addresses of the URL's host; throws NotAsked where it may not be connected to. */
export async function findAddresses(
  { hostname }: Pick<URL, "hostname">,
  { resolve, isPublic }: Reach,
  signal: AbortSignal,
): Promise<readonly [string, ...string[]]> {
  const literal = /^\[(.*)\]$/.exec(hostname)?.[1] ?? hostname;
  const found = resolve(literal).catch(() => []);
  const [address, ...others] = await orAborted(found, signal);
  // One that is not public among others would be the way around the rule. Nobody is told whether
  // there is such a host: by that, a stranger could learn which names a private network has.
  const isAllowed = address !== undefined && [address, ...others].every(isPublic);
  if (!isAllowed) throw new NotAsked(noPublicHost);
  return [address, ...others];
}

/** Of very many that a host may name. */
const mostTried = 4;
/** Then the next one is tried as well; the last one has the time that is left. */
const tried_ms = 1000;

/**
 * Connects to those addresses alone, whatever name is asked for, one after the other until one is
 * reached: a host may have some of a kind that this machine does not reach. It is to be destroyed.
 */
export function openPinned(
  addresses: readonly string[],
  { authorities }: Pick<Reach, "authorities">,
): Agent {
  return new Agent({
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: tried_ms,
    connect: {
      lookup: answerAlways(...addresses.slice(0, mostTried)),
      ...(authorities && { ca: [...authorities] }),
    },
    maxHeaderSize: mostHeaders_bytes,
  });
}

/** As the machine itself looks names up. */
export async function resolveHost(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true, verbatim: true });
  return found.map(({ address }) => address);
}

/** Why there was no answer. Never the error's own words: they may be a stranger's. */
export function describeEnd(error: unknown, signal: AbortSignal): string {
  if (error instanceof NotAsked) return error.message;
  if (signal.aborted) return "the server did not respond in time";
  const code = readErrorCode(error);
  if (code === "ECONNREFUSED") return "the connection was refused";
  if (isCertificateFault(code)) return "its certificate is invalid";
  return "the response could not be read";
}

export function readErrorCode(error: unknown): string {
  return String((error as { readonly code?: unknown } | null)?.code);
}

export function isCertificateFault(code: string): boolean {
  return /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_/.test(code) || otherFaults.has(code);
}

/** Faults of certificates that are named otherwise; Node has the last for any without a name. */
const otherFaults: ReadonlySet<string> = new Set([
  "INVALID_CA",
  "INVALID_PURPOSE",
  "PATH_LENGTH_EXCEEDED",
  "HOSTNAME_MISMATCH",
  "UNSPECIFIED",
]);

/** A lookup cannot be broken off, but nobody has to wait for it. */
function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new Error("aborted"));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/**
 * What is looked up then is known, and told in a later turn all the same, as any lookup tells it: a
 * connection that fails in this one, for want of a way to its address, does so before `node:https`
 * listens to it, and that ends the process.
 */
export function answerAlways(...addresses: readonly string[]): LookupFunction {
  const known = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  return (_hostname, options, callback) => {
    const [first] = known;
    setImmediate(() => {
      if (options.all === true) callback(null, known);
      else callback(null, first?.address ?? "", first?.family);
    });
  };
}
