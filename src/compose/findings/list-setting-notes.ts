import type { Config } from "../../config.ts";
import { isOpenHttp } from "../../network/ip-address.ts";
import { describeTrustedProxies } from "../../network/trusted-proxies.ts";

/** What the settings mean that nobody may have meant, and what to do about it. */
export function listSettingNotes(config: Config): readonly string[] {
  const { base_url, trusted_proxies } = config;
  // A start without WAYPOST_ALLOW_HTTP is refused before anything is looked at.
  const isOpen = base_url !== undefined && isOpenHttp(base_url);
  return [
    ...(isOpen ? ["the key travels unencrypted, use https in WAYPOST_BASE_URL"] : []),
    ...(trusted_proxies === undefined
      ? isBehindProxy(config)
        ? [hiddenAddresses]
        : []
      : [`client addresses are believed ${describeTrustedProxies(trusted_proxies)}`]),
  ];
}

/** Nothing here ends TLS: whoever gives an https address has something in front that does. */
function isBehindProxy({ base_url, link_origin, public_url }: Config): boolean {
  const addresses = base_url === undefined ? [link_origin, public_url] : [public_url];
  return addresses.some((address) => address?.startsWith("https:"));
}

const hiddenAddresses =
  "a proxy is in front and WAYPOST_TRUSTED_PROXIES names none, so no client's address can be " +
  "told: limits count them all as one, and installs on iOS are matched seldom";
