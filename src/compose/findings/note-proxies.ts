import type { Config } from "../../config.ts";
import { listCustomDomains } from "../../store/projects.ts";
import type { Store } from "../../store/store.ts";
import type { ServedBy } from "../watch-proxies.ts";
import type { Note } from "./finding.ts";

type Looked = {
  readonly config: Config;
  /** Undefined where the links live elsewhere, or in no store as yet. */
  readonly store: Pick<Store, "db"> | undefined;
  /** Who listens; undefined where nobody does. */
  readonly listener: ServedBy | undefined;
};

/** Whether a proxy is in front that is not trusted; nothing is said where none is known to be. */
export async function noteProxies(looked: Looked, note: Note): Promise<void> {
  const { listener } = looked;
  // What stdio serves is for this machine alone, and trusts nobody in front, whatever is set.
  if (listener?.kind === "stdio") return;
  const cause = listener?.hasMetProxy === true ? met : await findUnnamed(looked);
  if (cause !== undefined) note({ about: "proxies", warning: `${cause} ${hiddenAddresses}` });
}

const met = "Requests arrive through a proxy that WAYPOST_TRUSTED_PROXIES does not name.";

/** Nothing here ends TLS: whatever is https has something in front that does. */
async function findUnnamed({ config, store }: Looked): Promise<string | undefined> {
  if (config.trusted_proxies !== undefined) return undefined;
  const https = findHttpsAddress(config) ?? (store && (await findVerifiedDomain(store)));
  if (https === undefined) return undefined;
  return `${https} uses https, so there is a proxy, but WAYPOST_TRUSTED_PROXIES is not set.`;
}

async function findVerifiedDomain({ db }: Pick<Store, "db">): Promise<string | undefined> {
  const domains = await listCustomDomains(db);
  return domains.find((one) => one.custom_domain_verified === 1)?.custom_domain;
}

function findHttpsAddress({ base_url, link_origin, public_url }: Config): string | undefined {
  const origin = base_url === undefined ? link_origin : undefined;
  return [origin, public_url].find((address) => address?.startsWith("https:"));
}

const hiddenAddresses =
  "All visitors seem to have the same address: they share one rate limit, and few iOS installs " +
  "are matched. Set WAYPOST_TRUSTED_PROXIES to the proxy's network (loopback if the proxy runs " +
  "on this machine), then restart waypost serve";
