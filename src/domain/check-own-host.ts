import { readIfAllowed } from "../bulk/select/read-if-allowed.ts";
import { listLinkHosts, type KnownKey } from "../contract/access.ts";
import { contract } from "../contract/index.ts";
import { toSignal } from "../contract/leaving.ts";
import { paging } from "../contract/limits.ts";
import { readUrl } from "../contract/rules/web-address.ts";
import type { FetchFile } from "../network/hosts/fetch-file.ts";
import { checkHost } from "./check-host.ts";
import { readProjectFiles, type ProjectAccess } from "./expected.ts";
import type { DomainReport } from "./finding.ts";

/** Checks one of the hosts that belong to the key's project. */

export type DomainCheck = Omit<ProjectAccess, "isOwn"> & {
  readonly known: KnownKey;
  readonly fetchFile: FetchFile;
  readonly now: number;
};

/** Why a check cannot start. */
type CheckRefusal = { readonly message: string; readonly fix: string };

type ChosenHost =
  | { readonly origin: string; readonly others: readonly string[] }
  | { readonly refused: CheckRefusal };

type HostQuery = Pick<DomainCheck, "known" | "call" | "signal" | "mayRead">;
type ListedHosts =
  { readonly origins: readonly [string, ...string[]] } | { readonly refused: CheckRefusal };

/** The hosts of the key, starting with the one that the project's links use. */
export async function listOwnHosts({ known, ...access }: HostQuery): Promise<ListedHosts> {
  const [first, ...others] = await listOwnOrigins(known, access);
  return first === undefined ? { refused: explainNone(known) } : { origins: [first, ...others] };
}

/** Chooses the host to check. By default, it is the one that the project's links use. */
export async function chooseHost(
  requested: string | undefined,
  query: HostQuery,
): Promise<ChosenHost> {
  const listed = await listOwnHosts(query);
  if ("refused" in listed) return listed;
  const { known } = query;
  const { origins } = listed;
  const [first] = origins;
  // A master key has the domains of many projects, so there is no default.
  const isClear = known.linkHost !== undefined || origins.length === 1;
  const origin = requested === undefined ? first : findOwnOrigin(requested, origins);
  if (origin === undefined || (requested === undefined && !isClear)) {
    return { refused: explainForeign(origins, requested !== undefined) };
  }
  return { origin, others: origins.filter((one) => one !== origin).map(nameHost) };
}

export async function checkOwnHost(origin: string, check: DomainCheck): Promise<DomainReport> {
  // A remote server does not return the properties of its keys, so a key with properties is our
  // own.
  const isOwn = check.known.facts !== undefined;
  const expected = await readProjectFiles({ ...check, isOwn });
  return checkHost({ ...check, origin, expected, signal: toSignal(check.signal) });
}

function explainNone({ facts }: KnownKey): CheckRefusal {
  if (facts !== undefined) {
    const message = "No project has a verified custom domain.";
    return { message, fix: "Use a project's key: every project has a link host." };
  }
  const message = "This server's link host is unknown.";
  const fix =
    "Ask the operator to set WAYPOST_LINK_ORIGIN, or use a master key, which can read the " +
    "projects' verified domains.";
  return { message, fix };
}

const mostNamed = 20;

function explainForeign(origins: readonly string[], isNamed: boolean): CheckRefusal {
  const names = origins.slice(0, mostNamed).map(nameHost).join(", ");
  const what = isNamed ? "is not one of this key's verified hosts" : "is required";
  return { message: `host ${what}. This key's hosts are ${names}`, fix: "Name one of them." };
}

function nameHost(origin: string): string {
  return new URL(origin).host;
}

const { projects } = contract;

/**
 * The hosts that may be checked, starting with the project's main host. For a master key, these are
 * the verified domains of all projects. No other host gets a request.
 */
async function listOwnOrigins(
  known: Pick<KnownKey, "linkHost" | "otherLinkHosts">,
  access: Pick<ProjectAccess, "call" | "signal" | "mayRead">,
): Promise<readonly string[]> {
  const origins = listLinkHosts(known);
  if (origins.length > 0) return [...new Set(origins)];
  return access.mayRead(projects.index) ? listVerifiedDomains(access) : [];
}

const mostPages = 20;

async function listVerifiedDomains({
  call,
  signal,
}: Pick<ProjectAccess, "call" | "signal">): Promise<readonly string[]> {
  const origins: string[] = [];
  for (let page = 1; page <= mostPages; page += 1) {
    const query = { page, limit: paging.max_limit };
    // On a remote server, this call may be the first to show that the key is not a master key.
    const answer = await readIfAllowed(() => call(projects.index, query, signal));
    if (answer === undefined) break;
    for (const { custom_domain, custom_domain_verified } of answer.projects) {
      const origin = custom_domain_verified ? readOrigin(custom_domain ?? "") : undefined;
      if (origin !== undefined) origins.push(origin);
    }
    if (!answer.meta.next) break;
  }
  return [...new Set(origins)];
}

/** The domain comes from another server and may be any text. */
function readOrigin(domain: string): string | undefined {
  const host = readHost(domain);
  return host === undefined || host.port !== "" ? undefined : host.origin;
}

/** Finds the origin of the requested host, in any spelling. */
function findOwnOrigin(requested: string, origins: readonly string[]): string | undefined {
  const url = readHost(requested);
  if (url === undefined) return undefined;
  return origins.find((origin) => {
    const own = new URL(origin);
    return own.hostname === url.hostname && (url.port === "" || url.port === own.port);
  });
}

/** Host names are shorter, and longer texts are slow to parse. */
const mostCharacters = 300;

/** Accepts Unicode, a final dot and an origin, but nothing after the host. */
function readHost(text: string): URL | undefined {
  const written = text.trim();
  if (written.length > mostCharacters) return undefined;
  const url = readUrl(/^https?:\/\//i.test(written) ? written : `https://${written}`);
  if (url === undefined || url.pathname !== "/" || /[@?#\\]/.test(written)) return undefined;
  const hostname = url.hostname.replace(/\.$/, "");
  return readUrl(`${url.protocol}//${hostname}${url.port === "" ? "" : `:${url.port}`}`);
}
