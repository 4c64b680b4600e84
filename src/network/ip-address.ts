import { BlockList, isIP, SocketAddress } from "node:net";

/** Normalizes IP addresses so that they can be compared. */

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/**
 * Returns undefined if the text is not an IP address. An IPv4-mapped IPv6 address becomes an IPv4
 * address.
 */
export function normalizeAddress(text: string): string | undefined {
  const plain = mapped.exec(text)?.[1] ?? text;
  const version = isIP(plain);
  if (version === 0) return undefined;
  if (version === 4) return plain;
  // Removes an IPv6 zone such as `%eth0`, which means something only on one machine.
  const [address = ""] = plain.split("%");
  const written = new SocketAddress({ address, family: "ipv6" }).address;
  return mapped.exec(written)?.[1] ?? written;
}

/** Removes the brackets around an IPv6 address in a URL's host. */
export function dropBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

/** The address must be normalized. */
export function readFamily(address: string): "ipv4" | "ipv6" {
  return address.includes(":") ? "ipv6" : "ipv4";
}

/** Groups IP addresses that may belong to one client. A client may have a whole IPv6 /64. */
export function findAddressGroup(address: string): string {
  if (readFamily(address) === "ipv4") return address;
  const [before = "", after] = address.split("::");
  const first = before === "" ? [] : before.split(":");
  const last = after === undefined || after === "" ? [] : after.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => "0");
  return [...first, ...zeros, ...last].slice(0, 4).join(":");
}

/** Whether a host name refers to this machine on every network. */
export function isLoopbackHost(hostname: string): boolean {
  const name = hostname.toLowerCase().replace(/\.$/, "");
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  return isLoopbackAddress(dropBrackets(name));
}

export function isLoopbackAddress(text: string): boolean {
  const address = normalizeAddress(text);
  return address !== undefined && isLoopback(address);
}

/** Whether requests to a URL leave this machine without encryption. */
export function isOpenHttp(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !isLoopbackHost(hostname);
}

export type Network = { readonly address: string; readonly prefix: number };

const loopbackNetworks: readonly Network[] = [
  { address: "127.0.0.0", prefix: 8 },
  { address: "::1", prefix: 128 },
];

/** Parses constant lists, such as `10.0.0.0/8 fd00::/8`. */
export function listNetworks(...lists: readonly string[]): readonly Network[] {
  return lists
    .join(" ")
    .split(" ")
    .map((network) => {
      const [address = "", prefix = ""] = network.split("/");
      return { address, prefix: Number(prefix) };
    });
}

const isLoopback = matchNetworks(loopbackNetworks);

/** Returns a function that checks whether a normalized IP address is in one of the networks. */
export function matchNetworks(networks: readonly Network[]): (address: string) => boolean {
  // Created when first used, because most processes never use it.
  let list: BlockList | undefined;
  return (address) => {
    list ??= writeList(networks);
    return list.check(address, readFamily(address));
  };
}

function writeList(networks: readonly Network[]): BlockList {
  const list = new BlockList();
  for (const { address, prefix } of networks) {
    list.addSubnet(address, prefix, readFamily(address));
  }
  return list;
}

/**
 * Whether an IP address is on the public internet, so that requests to it cannot reach private
 * networks. Addresses in IANA's special-purpose registries (RFC 6890) are not public.
 */
export function isPublicAddress(text: string): boolean {
  const address = normalizeAddress(text);
  if (address === undefined) return false;
  if (readFamily(address) === "ipv4") return !isSpecialIpv4(address);
  return isGlobalIpv6(address) && !isSpecialIpv6(address);
}

const isSpecialIpv4 = matchNetworks(
  listNetworks(
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24",
    "192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24",
    "224.0.0.0/4 240.0.0.0/4",
  ),
);

/**
 * All public IPv6 addresses. Other IPv6 addresses are private or local, or are translated to IPv4
 * (64:ff9b::).
 */
const isGlobalIpv6 = matchNetworks(listNetworks("2000::/3"));

/** Includes Teredo and 6to4: their addresses contain an IPv4 address, which may be private. */
const isSpecialIpv6 = matchNetworks(listNetworks("2001::/23 2001:db8::/32 2002::/16 3fff::/20"));

/**
 * Parses networks and addresses, such as `10.0.0.0/8, fd00::/8, 192.0.2.1, loopback`. Returns
 * undefined if any of them is invalid.
 */
export function readNetworks(text: string): readonly Network[] | undefined {
  const networks = text.split(",").flatMap<Network | undefined>((word) => {
    return word.trim() === "loopback" ? loopbackNetworks : [readNetwork(word.trim())];
  });
  const known = networks.filter((network) => network !== undefined);
  return known.length === networks.length ? known : undefined;
}

export function writeNetworks(networks: readonly Network[]): string {
  return networks.map(({ address, prefix }) => `${address}/${prefix}`).join(", ");
}

/** Parses a network or a single IP address. Rejects `/0`, because it contains every address. */
function readNetwork(word: string): Network | undefined {
  const [, text = "", bits] = /^([^/]+)(?:\/([1-9]\d{0,2}))?$/.exec(word) ?? [];
  const address = normalizeAddress(text);
  // Rejects IPv4-mapped addresses, because their IPv6 prefix length would be misread as one for
  // IPv4.
  if (address === undefined || (text.includes(":") && !address.includes(":"))) return undefined;
  const most = readFamily(address) === "ipv4" ? 32 : 128;
  const prefix = bits === undefined ? most : Number(bits);
  return prefix <= most ? { address, prefix } : undefined;
}
