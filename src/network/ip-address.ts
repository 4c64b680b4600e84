import { BlockList, isIP, SocketAddress } from "node:net";

/** Normalizes IP addresses so that they can be compared. */

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** Undefined if the text is not an address. IPv4 within IPv6 becomes IPv4. */
export function normalizeAddress(text: string): string | undefined {
  const plain = mapped.exec(text)?.[1] ?? text;
  const version = isIP(plain);
  if (version === 0) return undefined;
  if (version === 4) return plain;
  // A zone is only meaningful on its own machine.
  const [address = ""] = plain.split("%");
  const written = new SocketAddress({ address, family: "ipv6" }).address;
  return mapped.exec(written)?.[1] ?? written;
}

/** Removes the brackets around an IPv6 address in a host. */
export function dropBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

/** Expects a normalized address. */
export function readFamily(address: string): "ipv4" | "ipv6" {
  return address.includes(":") ? "ipv6" : "ipv4";
}

/**
 * Groups addresses that may belong to one client: providers give each customer a whole /64 of IPv6.
 */
export function findAddressGroup(address: string): string {
  if (readFamily(address) === "ipv4") return address;
  const [before = "", after] = address.split("::");
  const first = before === "" ? [] : before.split(":");
  const last = after === undefined || after === "" ? [] : after.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => "0");
  return [...first, ...zeros, ...last].slice(0, 4).join(":");
}

/** Whether a host name always refers to this machine. */
export function isLoopbackHost(hostname: string): boolean {
  const name = hostname.toLowerCase().replace(/\.$/, "");
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  return isLoopbackAddress(dropBrackets(name));
}

export function isLoopbackAddress(text: string): boolean {
  const address = normalizeAddress(text);
  return address !== undefined && isLoopback(address);
}

/** Whether requests to an address leave this machine without encryption. */
export function isOpenHttp(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !isLoopbackHost(hostname);
}

export type Network = { readonly address: string; readonly prefix: number };

export const loopbackNetworks: readonly Network[] = [
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

/** Returns a function that checks whether a normalized address is in one of the networks. */
export function matchNetworks(networks: readonly Network[]): (address: string) => boolean {
  // Created on first use, because most processes never need it.
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
