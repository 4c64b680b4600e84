import { normalizeAddress } from "./ip-address.ts";
import type { Trusts } from "./trusted-proxies.ts";

/** Where a request comes from, by its connection and by what proxies wrote into it. */

type HeaderLines = Readonly<Record<string, string | readonly string[] | undefined>>;

type Arrival = {
  readonly headers: HeaderLines;
  /** Its other end is undefined once the connection is gone. */
  readonly socket: { readonly remoteAddress?: string | undefined };
};

/** What proxies write into a request that they pass on. */
const forwarding = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
];

/** Whether somebody has passed a request on, who may be believed or not. */
export function isForwarded(headers: Headers): boolean {
  return forwarding.some((name) => headers.has(name));
}

/** The same for a message of Node's own HTTP server. */
export function isForwardedMessage({ headers }: Pick<Arrival, "headers">): boolean {
  return forwarding.some((name) => headers[name] !== undefined);
}

/**
 * Each proxy appends the address that called it, so the list is read from the right, and only as
 * far as those who wrote it are trusted. Any client can write what is further left.
 */
export function findClientAddress(
  { headers, socket }: Arrival,
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
 * The address that was found, if it is the client's own. Behind a proxy that is not trusted it is
 * the proxy's, which all of its clients share. Such a proxy shows by any header that it adds, and
 * no list of its own names its address.
 */
export function findToldAddress(
  address: string | undefined,
  headers: HeaderLines,
): string | undefined {
  const entries = listEntries(headers);
  if (entries === undefined) {
    return isForwardedMessage({ headers }) ? undefined : address;
  }
  return entries.map(readNode).includes(address) ? address : undefined;
}

/** Node joins the lines of this header; its type does not say so. */
function listEntries(headers: HeaderLines): readonly string[] | undefined {
  return headers["x-forwarded-for"]?.toString().split(",");
}

/** `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1` or `[2001:db8::1]:4711`. */
function readNode(text: string): string | undefined {
  const node = text.trim();
  const [, bracketed] = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(node) ?? [];
  const [, dotted] = /^([\d.]+):\d{1,5}$/.exec(node) ?? [];
  return normalizeAddress(bracketed ?? dotted ?? node);
}
