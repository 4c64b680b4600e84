import type { Config } from "../../config.ts";
import { isOpenHttp } from "../../network/ip-address.ts";
import { describeTrustedProxies } from "../../network/trusted-proxies.ts";

/** What the settings mean that nobody may have meant, and what to do about it. */
export function listSettingNotes({ base_url, trusted_proxies }: Config): readonly string[] {
  // A start without WAYPOST_ALLOW_HTTP is refused before anything is looked at.
  const isOpen = base_url !== undefined && isOpenHttp(base_url);
  return [
    ...(isOpen ? ["the key is sent unencrypted: use https in WAYPOST_BASE_URL"] : []),
    ...(trusted_proxies === undefined
      ? []
      : [`X-Forwarded-For is trusted from ${describeTrustedProxies(trusted_proxies)}`]),
  ];
}
