import {
  normalizeAddress,
  matchNetworks,
  readNetworks,
  writeNetworks,
  findAddressGroup,
  listNetworks,
  isPublicAddress,
  type Network,
} from "./ip-address.ts";

/** Finds a client's IP address from its connection and the headers of trusted proxies. */

type HeaderLines = Readonly<Record<string, string | readonly string[] | undefined>>;

type ArrivedRequest = {
  readonly headers: HeaderLines;
  /** The remote address is undefined after the connection was closed. */
  readonly socket: { readonly remoteAddress?: string | undefined };
};

const forwarding = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
];

/** Whether a proxy, trusted or not, forwarded the request. */
export function isForwarded(headers: Headers): boolean {
  return forwarding.some((name) => headers.has(name));
}

/** Like `isForwarded`, for requests of Node's HTTP server. */
export function isForwardedMessage({ headers }: Pick<ArrivedRequest, "headers">): boolean {
  return forwarding.some((name) => headers[name] !== undefined);
}

/**
 * Finds the client's IP address. Each proxy appends its client's address to `X-Forwarded-For`, so
 * the entries are read from the right for as long as the proxies are trusted. Entries further left
 * could be forged.
 */
export function findClientAddress(
  { headers, socket }: ArrivedRequest,
  trusts: TrustCheck,
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
 * Returns the address if it belongs to the client itself. Returns undefined if it may belong to an
 * untrusted proxy, because all clients of the proxy share it. A proxy that adds forwarding headers
 * does not list its own address in them.
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

/** The type allows an array, but Node joins repeated lines of this header into a string. */
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

/** The proxies that are trusted to send a correct `X-Forwarded-For` header. */
export type TrustedProxies =
  /** How many proxies in a row are trusted. */
  { readonly hops: number } | { readonly networks: readonly Network[] };

/**
 * Whether the machine with this IP address is trusted. Hop 0 is the machine that connected to this
 * process.
 */
type TrustCheck = (address: string, hop: number) => boolean;

/**
 * Parses a number of proxies, such as `2`, or networks, such as `10.0.0.0/8, fd00::/8, loopback`.
 * Returns undefined for invalid text.
 */
export function readTrustedProxies(text: string): TrustedProxies | undefined {
  if (/^[1-9]\d?$/.test(text.trim())) return { hops: Number(text) };
  const networks = readNetworks(text);
  return networks && { networks };
}

/** If no trusted proxies are configured, no machine is trusted. */
export function createTrust(proxies: TrustedProxies | undefined): TrustCheck {
  if (proxies === undefined) return () => false;
  if ("hops" in proxies) return (_, hop) => hop < proxies.hops;
  return matchNetworks(proxies.networks);
}

/** Describes the trusted proxies, for use within a sentence. */
export function describeTrustedProxies(proxies: TrustedProxies): string {
  if ("hops" in proxies) return proxies.hops === 1 ? "one proxy" : `${proxies.hops} proxies`;
  return writeNetworks(proxies.networks);
}

/**
 * Returns the client's network: an IPv4 address or an IPv6 /64. Returns undefined if the text is
 * not an IP address.
 */
export function findClientNetwork(text: string | undefined): ClientNetwork | undefined {
  const address = normalizeAddress(text ?? "");
  if (address === undefined) return undefined;
  const isShared = !isPublicAddress(address) || isKnownAsShared(address);
  return { group: findAddressGroup(address), isShared };
}

export type ClientNetwork = {
  readonly group: string;
  /**
   * Whether many people use this IP address at the same time. True for private networks, carrier
   * NAT (RFC 6598), and the exit addresses of carriers and iCloud Private Relay.
   */
  readonly isShared: boolean;
};

/** Networks that are known to be shared. No list contains all addresses that carriers share. */
const isKnownAsShared = matchNetworks(
  listNetworks(
    // These networks cover all 13,581 prefixes in Apple's list of Private Relay exits,
    // https://mask-api.icloud.com/egress-ip-ranges.csv (copied on 13 April 2026).
    "104.28.0.0/16 140.248.0.0/16 146.75.0.0/16 172.224.0.0/15 172.226.0.0/16",
    "2606:54c0::/32 2606:54c3::/32 2a02:26f7::/32 2a04:4e41::/32 2a09:bac2::/31",
    // Registered at ARIN as ATT-MOBILITY-LLC, TMO9 and WIRELESSDATANETWORK. Only the mobile
    // networks of T-Mobile (AS21928) and Verizon (AS6167, AS22394) route the last two ranges.
    "107.64.0.0/10 172.32.0.0/11 174.192.0.0/10",
    // Routed almost only by carriers, mainly AT&T Mobility (AS20057) and Verizon Wireless
    // (RouteViews and DB-IP, 17 June 2026).
    "166.128.0.0/9",
  ),
);
