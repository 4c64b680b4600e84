import type { IncomingMessage } from "node:http";
import type { Config } from "../../config.ts";
import type { Clock } from "../../contract/clock.ts";
import { findClientAddress, findOwnAddress } from "../../network/client-address.ts";
import { normalizeAddress } from "../../network/ip-address.ts";
import { createTrust } from "../../network/trusted-proxies.ts";
import { readCountry } from "./read-country.ts";

type FindCountry = (request: IncomingMessage) => string | undefined;

type Options = {
  readonly config: Pick<Config, "country_header" | "geoip_file" | "trusted_proxies">;
  readonly clock: Pick<Clock, "monotonic">;
  /** Tells the operator what is to be set right. */
  readonly warn: (facts: object, message: string) => unknown;
};

/**
 * The country of a visitor: what the proxy in front says, for it saw the visitor itself; where it
 * says none, what the operator's file tells of the address. Undefined where neither is set.
 */
export async function openFindCountry(options: Options): Promise<FindCountry | undefined> {
  const { geoip_file, trusted_proxies } = options.config;
  const findSaid = createReadSaid(options.config);
  if (geoip_file === undefined) return findSaid;
  const { followCountryFile } = await import("./country-file.ts");
  const find = await followCountryFile(geoip_file, options);
  const trusts = createTrust(trusted_proxies);
  return (request) => {
    const said = findSaid?.(request);
    if (said !== undefined) return said;
    // Behind a proxy that is not trusted the country would be the proxy's.
    const address = findOwnAddress(findClientAddress(request, trusts), request.headers);
    return address === undefined ? undefined : find(address);
  };
}

/**
 * What the header says, of those alone who are trusted where some are: others could write any
 * country. Over stdio this is all, for this machine alone visits.
 */
export function createReadSaid({
  country_header: header,
  trusted_proxies,
}: Omit<Options["config"], "geoip_file">): FindCountry | undefined {
  if (header === undefined) return undefined;
  const trusts = trusted_proxies && createTrust(trusted_proxies);
  return ({ headers, socket }) => {
    const country = readCountry(headers[header]?.toString() ?? "");
    if (country === undefined || trusts === undefined) return country;
    const peer = normalizeAddress(socket.remoteAddress ?? "");
    return peer !== undefined && trusts(peer, 0) ? country : undefined;
  };
}
