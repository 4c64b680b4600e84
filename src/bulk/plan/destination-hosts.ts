import type { JsonObject } from "../../contract/json.ts";
import { readDestinationHost } from "../../contract/rules/store-address.ts";

const destinations = ["url", "ios_fallback_url", "android_fallback_url"] as const;

/** The hosts that a link's addresses lead to, each once, as a browser asks for them. */
export function listHosts(link: JsonObject): ReadonlySet<string> {
  const hosts = destinations.flatMap((field) => {
    const address = link[field];
    return (typeof address === "string" ? readDestinationHost(address) : undefined) ?? [];
  });
  return new Set(hosts);
}
