import type { IncomingMessage } from "node:http";
import type { Config } from "../config.ts";

/** What proxies write where they do not know: of Tor, and of nowhere. */
const nowhere: ReadonlySet<string> = new Set(["XX", "T1", "ZZ"]);

/** The country of a visitor, as the proxy in front of this server says it; else nobody knows. */
export function createFindCountry({ country_header }: Pick<Config, "country_header">) {
  if (country_header === undefined) return undefined;
  return ({ headers }: Pick<IncomingMessage, "headers">): string | undefined => {
    const said = headers[country_header]?.toString().trim().toUpperCase();
    if (said === undefined || !/^[A-Z]{2}$/.test(said) || nowhere.has(said)) return undefined;
    return said;
  };
}
