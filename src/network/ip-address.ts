import { BlockList, isIP, SocketAddress } from "node:net";

/** Addresses of machines, each in the one form in which it can be compared. */

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** Undefined for what is no address. IPv4 within IPv6 is IPv4: one machine, one address. */
export function normalizeAddress(text: string): string | undefined {
  const plain = mapped.exec(text)?.[1] ?? text;
  const version = isIP(plain);
  if (version === 0) return undefined;
  if (version === 4) return plain;
  // A zone is a matter of the machine that wrote it.
  const [address = ""] = plain.split("%");
  const written = new SocketAddress({ address, family: "ipv6" }).address;
  return mapped.exec(written)?.[1] ?? written;
}

/** Without the brackets that IPv6 has where it stands for a host. */
export function dropBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

/** A normalised address is the one or the other. */
export function readFamily(address: string): "ipv4" | "ipv6" {
  return address.includes(":") ? "ipv6" : "ipv4";
}

/**
 * Whose address it is, as far as a stranger's can tell: a single customer of a provider has a whole
 * network of IPv6 addresses, of 64 bits.
 */
export function findAddressGroup(address: string): string {
  if (readFamily(address) === "ipv4") return address;
  const [before = "", after] = address.split("::");
  const first = before === "" ? [] : before.split(":");
  const last = after === undefined || after === "" ? [] : after.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => "0");
  return [...first, ...zeros, ...last].slice(0, 4).join(":");
}

/** Whether a host name, as an address on the web has it, leads to this machine alone. */
export function isLoopbackHost(hostname: string): boolean {
  const name = hostname.toLowerCase().replace(/\.$/, "");
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  return isLoopbackAddress(dropBrackets(name));
}

export function isLoopbackAddress(text: string): boolean {
  const address = normalizeAddress(text);
  return address !== undefined && isLoopback(address);
}

/** Whether what is sent to an address on the web leaves this machine unencrypted. */
export function isOpenHttp(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !isLoopbackHost(hostname);
}

export type Network = { readonly address: string; readonly prefix: number };

export const loopbackNetworks: readonly Network[] = [
  { address: "127.0.0.0", prefix: 8 },
  { address: "::1", prefix: 128 },
];

/** Those that we have written ourselves: `10.0.0.0/8 fd00::/8`. */
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

/** Whether a normalised address is of one of them. */
export function matchNetworks(networks: readonly Network[]): (address: string) => boolean {
  // Most sessions never ask.
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
