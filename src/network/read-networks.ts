import { loopbackNetworks, normalizeAddress, readFamily, type Network } from "./ip-address.ts";

/** Reads `10.0.0.0/8, fd00::/8, 192.0.2.1, loopback`. Undefined if one word is invalid. */
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

/** A single address is a network of one. A prefix of 0 is rejected, because it means everyone. */
function readNetwork(word: string): Network | undefined {
  const [, text = "", bits] = /^([^/]+)(?:\/([1-9]\d{0,2}))?$/.exec(word) ?? [];
  const address = normalizeAddress(text);
  // IPv4 within IPv6 has another prefix length, which would be misread here.
  if (address === undefined || (text.includes(":") && !address.includes(":"))) return undefined;
  const most = readFamily(address) === "ipv4" ? 32 : 128;
  const prefix = bits === undefined ? most : Number(bits);
  return prefix <= most ? { address, prefix } : undefined;
}
