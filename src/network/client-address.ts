import { normalizeAddress } from "./ip-address.ts";
import type { Trusts } from "./trusted-proxies.ts";

/** Finds the client's address from the connection and from the headers of trusted proxies. */

type HeaderLines = Readonly<Record<string, string | readonly string[] | undefined>>;

type ArrivedRequest = {
  readonly headers: HeaderLines;
  /** The address is undefined once the connection is closed. */
  readonly socket: { readonly remoteAddress?: string | undefined };
};

/** The headers that proxies add. */
const forwarding = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
];

/** Whether a proxy has forwarded a request. The proxy may be untrusted. */
export function isForwarded(headers: Headers): boolean {
  return forwarding.some((name) => headers.has(name));
}

/** Like `isForwarded`, for a request of Node's HTTP server. */
export function isForwardedMessage({ headers }: Pick<ArrivedRequest, "headers">): boolean {
  return forwarding.some((name) => headers[name] !== undefined);
}

/**
 * Finds the client's address. Each proxy appends the address of its own client to the list. So the
 * list is read from the right, as long as the author of each entry is trusted. Anyone can forge the
 * entries further left.
 */
export function findClientAddress(
  { headers, socket }: ArrivedRequest,
  trusts: Trusts,
): string | undefined {
  let address = normalizeAddress(socket.remoteAddress ?? "");
  const entries = listEntries(headers)?.toReversed() ?? [];
  for (const [hop, entry] of entries.entries()) {
    if (address === undefined || !trusts(address, hop)) break;
    const next = readNode(entry);
    if (next === undefined) break;
    address = next;
  }
  return address;
}

/**
 * Returns the address only if it is the client's own. Behind an untrusted proxy, the address
 * belongs to the proxy, and all its clients share it. Such a proxy adds a header, but no
 * `X-Forwarded-For` entry equal to this address.
 */
export function findOwnAddress(
  address: string | undefined,
  headers: HeaderLines,
): string | undefined {
  const entries = listEntries(headers);
  if (entries === undefined) {
    return isForwardedMessage({ headers }) ? undefined : address;
  }
  return entries.map(readNode).includes(address) ? address : undefined;
}

/** Node joins repeated lines of this header, although its type allows a list. */
function listEntries(headers: HeaderLines): readonly string[] | undefined {
  return headers["x-forwarded-for"]?.toString().split(",");
}

/** Reads `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1` or `[2001:db8::1]:4711`. */
function readNode(text: string): string | undefined {
  const node = text.trim();
  const [, bracketed] = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(node) ?? [];
  const [, dotted] = /^([\d.]+):\d{1,5}$/.exec(node) ?? [];
  return normalizeAddress(bracketed ?? dotted ?? node);
}
