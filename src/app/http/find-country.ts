import type { IncomingMessage } from "node:http";
import type { Config } from "../../config.ts";
import type { Clock } from "../../contract/clock.ts";
import { findClientAddress, findOwnAddress, createTrust } from "../../network/client-address.ts";
import { normalizeAddress } from "../../network/ip-address.ts";
import { readCountry } from "./read-country.ts";

/** Finds a visitor's country in the proxy's header, or else in the operator's file. */

type FindCountry = (request: IncomingMessage) => string | undefined;

type CountryOptions = {
  readonly config: Pick<Config, "country_header" | "geoip_file" | "trusted_proxies">;
  readonly clock: Pick<Clock, "monotonic">;
  /** Logs a warning that the operator should act on. */
  readonly warn: (facts: object, message: string) => unknown;
};

/**
 * Returns undefined if neither a header nor a file is configured. The header wins, because the
 * visitor connects to the proxy directly.
 */
export async function openFindCountry(options: CountryOptions): Promise<FindCountry | undefined> {
  const { geoip_file, trusted_proxies } = options.config;
  const readCountryHeader = createHeaderReader(options.config);
  if (geoip_file === undefined) return readCountryHeader;
  const { followCountryFile } = await import("./country-file.ts");
  const find = await followCountryFile(geoip_file, options);
  const trusts = createTrust(trusted_proxies);
  return (request) => {
    const country = readCountryHeader?.(request);
    if (country !== undefined) return country;
    // Behind an untrusted proxy, the lookup is skipped, because it would find the proxy's country.
    const address = findOwnAddress(findClientAddress(request, trusts), request.headers);
    return address === undefined ? undefined : find(address);
  };
}

/**
 * Reads the country from the header. If trusted proxies are configured, only they may send the
 * header, because anyone else could claim any country. A stdio process needs no trusted proxies,
 * because its only visitors are on this machine.
 */
export function createHeaderReader({
  country_header: header,
  trusted_proxies,
}: Omit<CountryOptions["config"], "geoip_file">): FindCountry | undefined {
  if (header === undefined) return undefined;
  const trusts = trusted_proxies && createTrust(trusted_proxies);
  return ({ headers, socket }) => {
    const country = readCountry(headers[header]?.toString() ?? "");
    if (country === undefined || trusts === undefined) return country;
    const peer = normalizeAddress(socket.remoteAddress ?? "");
    return peer !== undefined && trusts(peer, 0) ? country : undefined;
  };
}
