import { readIfAllowed } from "../lists/project-apps.ts";
import { readProjects } from "../lists/read-list.ts";
import { listLinkHosts, type KnownKey } from "../contract/access.ts";
import type { ListInput } from "../contract/filters.ts";
import { contract } from "../contract/index.ts";
import { readUrl } from "../contract/rules/web-address.ts";
import { toSignal } from "../contract/waiting.ts";
import type { FetchFile, FetchedFile } from "../network/hosts/fetch-file.ts";
import { isLoopbackHost } from "../network/ip-address.ts";
import { quote } from "../text/show-hidden.ts";
import {
  associationPaths,
  mostFile_bytes,
  opensLinks,
  type AssociationSystem,
} from "../visit/association-files.ts";
import { readProjectFiles, type ProjectAccess, type ExpectedFiles } from "./expected.ts";
import { describe, systems, type DomainReport, type DomainFinding } from "./finding.ts";
import {
  judgeAnswer,
  judgeAppleCache,
  judgeGoogleCache,
  judgeUnreached,
  judgeFile,
} from "./judge-answer.ts";

/** Checks whether the links on a project's host can open apps on phones. */

export type DomainCheck = Omit<ProjectAccess, "isOwn"> & {
  readonly known: KnownKey;
  readonly fetchFile: FetchFile;
  readonly now: number;
};

type CheckRefusal = { readonly message: string; readonly fix: string };

type ChosenHost =
  | { readonly origin: string; readonly others: readonly string[] }
  | { readonly refused: CheckRefusal };

type HostQuery = Pick<DomainCheck, "known" | "call" | "signal" | "mayRead">;
type ListedHosts =
  { readonly origins: readonly [string, ...string[]] } | { readonly refused: CheckRefusal };

/** Lists the hosts that the key may check. The host that the project's links use comes first. */
export async function listOwnHosts({ known, ...access }: HostQuery): Promise<ListedHosts> {
  const [first, ...others] = await listOwnOrigins(known, access);
  return first === undefined ? { refused: explainNone(known) } : { origins: [first, ...others] };
}

/** Chooses the host to check. The default is the host of the project's links. */
export async function chooseHost(
  requested: string | undefined,
  query: HostQuery,
): Promise<ChosenHost> {
  const listed = await listOwnHosts(query);
  if ("refused" in listed) return listed;
  const { known } = query;
  const { origins } = listed;
  const [first] = origins;
  // A master key may check the domains of many projects, so there is no default.
  const isClear = known.linkHost !== undefined || origins.length === 1;
  const origin = requested === undefined ? first : findOwnOrigin(requested, origins);
  if (origin === undefined || (requested === undefined && !isClear)) {
    return { refused: explainForeign(origins, requested !== undefined) };
  }
  return { origin, others: origins.filter((one) => one !== origin).map(nameHost) };
}

export async function checkOwnHost(origin: string, check: DomainCheck): Promise<DomainReport> {
  // Facts about a key are known only if the embedded service serves its project.
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
 * Lists the hosts that may be checked, starting with the project's main host. A master key may
 * check the verified domains of all projects. No other host ever gets a request.
 */
async function listOwnOrigins(
  known: Pick<KnownKey, "linkHost" | "otherLinkHosts">,
  access: Pick<ProjectAccess, "call" | "signal" | "mayRead">,
): Promise<readonly string[]> {
  const origins = listLinkHosts(known);
  if (origins.length > 0) return [...new Set(origins)];
  return access.mayRead(projects.index) ? listVerifiedDomains(access) : [];
}

async function listVerifiedDomains({
  call,
  signal,
}: Pick<ProjectAccess, "call" | "signal">): Promise<readonly string[]> {
  const readPage = (input: ListInput) => call(projects.index, input, signal);
  // On a remote server, the first request may show that the key is not a master key.
  const rows = (await readIfAllowed(() => readProjects(readPage))) ?? [];
  const origins = rows.flatMap(({ custom_domain, custom_domain_verified }) => {
    return (custom_domain_verified && readOrigin(custom_domain ?? "")) || [];
  });
  return [...new Set(origins)];
}

/** Returns the origin of a domain. The domain may be any text, because a server sent it. */
function readOrigin(domain: string): string | undefined {
  const host = readHost(domain);
  return host === undefined || host.port !== "" ? undefined : host.origin;
}

function findOwnOrigin(requested: string, origins: readonly string[]): string | undefined {
  const url = readHost(requested);
  if (url === undefined) return undefined;
  return origins.find((origin) => {
    const own = new URL(origin);
    return own.hostname === url.hostname && (url.port === "" || url.port === own.port);
  });
}

/** Longer text is slow to parse, and no valid host name is this long. */
const mostCharacters = 300;

/**
 * Parses a host name. It may contain Unicode, end with a dot, or be an origin, but nothing may
 * follow the host.
 */
function readHost(text: string): URL | undefined {
  const written = text.trim();
  if (written.length > mostCharacters) return undefined;
  const url = readUrl(/^https?:\/\//i.test(written) ? written : `https://${written}`);
  if (url === undefined || url.pathname !== "/" || /[@?#\\]/.test(written)) return undefined;
  const hostname = url.hostname.replace(/\.$/, "");
  return readUrl(`${url.protocol}//${hostname}${url.port === "" ? "" : `:${url.port}`}`);
}

export type HostCheck = {
  /**
   * The origin of the links. Even if it is an http origin, the association files are requested over
   * HTTPS.
   */
  readonly origin: string;
  readonly expected: ExpectedFiles;
  readonly fetchFile: FetchFile;
  readonly now: number;
  readonly signal: AbortSignal;
};

/**
 * Checks a link host as phones see it: the two association files, as Apple and Google request them,
 * and the copies in the caches of Apple and Google.
 */
export async function checkHost(check: HostCheck): Promise<DomainReport> {
  const { hostname, host } = new URL(check.origin);
  const findings = isLoopbackHost(hostname)
    ? [describeLocal(hostname)]
    : await inspectHost(hostname, check);
  const all = [...findings, ...check.expected.findings];
  return { host, ok: all.every(({ severity }) => severity !== "error"), findings: all };
}

function describeLocal(hostname: string): DomainFinding {
  return describe(
    "error",
    "host_local",
    `${quote(hostname)} works only on this machine, so phones cannot reach it.`,
    "Serve links on a public host: set WAYPOST_LINK_ORIGIN, or verify a custom domain.",
  );
}

async function inspectHost(hostname: string, check: HostCheck): Promise<readonly DomainFinding[]> {
  const { origin, expected, now } = check;
  const [ios, android, apple, google] = await Promise.all([
    readFile("ios", hostname, check),
    readFile("android", hostname, check),
    check.expected.hasApps("ios") ? requestFile(appleCache(hostname), check) : undefined,
    check.expected.hasApps("android") ? requestFile(googleCache(hostname), check) : undefined,
  ]);
  const caches = [
    ...(apple === undefined
      ? []
      : judgeAppleCache({ fetched: apple, served: ios.content, expected: expected.files.ios })),
    ...(google === undefined
      ? []
      : judgeGoogleCache({
          fetched: google,
          served: android.content,
          expected: expected.files.android,
        })),
  ];
  return [
    ...judgeOrigin(origin),
    ...joinUnreached(hostname, [ios.fetched, android.fetched]),
    ...judgeCertificate(hostname, [ios.fetched, android.fetched], now),
    ...ios.findings,
    ...android.findings,
    ...caches,
  ];
}

function judgeOrigin(origin: string): readonly DomainFinding[] {
  const { protocol, port, host } = new URL(origin);
  const fix = "Set WAYPOST_LINK_ORIGIN to the https address that visitors see, without a port.";
  if (port !== "") {
    const message = `Links are at ${quote(host)}, but phones open apps only for links on port 443.`;
    return [describe("error", "links_have_port", message, fix)];
  }
  if (protocol === "https:") return [];
  const message = "Links begin with http://, so visits are not encrypted.";
  return [describe("warning", "links_over_http", message, fix)];
}

type FileCheck = {
  readonly fetched: FetchedFile;
  readonly findings: readonly DomainFinding[];
  readonly content: unknown;
};

async function readFile(
  system: AssociationSystem,
  hostname: string,
  check: HostCheck,
): Promise<FileCheck> {
  const path = associationPaths[system];
  const fetched = await requestFile({ hostname, path, agent: systems[system].agent }, check);
  if (fetched.kind !== "answered") return { fetched, findings: [], content: undefined };
  // A host may reject only this user agent, so repeat a rejected request with another one.
  const isRefused = fetched.status >= 400;
  const again = isRefused
    ? await requestFile({ hostname, path, agent: ownAgent }, check)
    : undefined;
  const others = again?.kind === "answered" ? again.status : undefined;
  const { findings, content } = judgeAnswer(system, fetched, others);
  if (content === undefined) return { fetched, findings, content };
  const judged = judgeFile(system, content, check.expected.files[system]);
  return { fetched, findings: [...findings, ...judged], content };
}

const ownAgent = "waypost";

type FileAddress = { readonly hostname: string; readonly path: string; readonly agent: string };

function requestFile(file: FileAddress, { fetchFile, signal }: HostCheck): Promise<FetchedFile> {
  return fetchFile({ ...file, most_bytes: mostFile_bytes }, signal);
}

function appleCache(host: string): FileAddress {
  const hostname = "app-site-association.cdn-apple.com";
  return { hostname, path: `/a/v1/${host}`, agent: ownAgent };
}

function googleCache(host: string): FileAddress {
  const query = new URLSearchParams({
    "source.web.site": `https://${host}`,
    relation: opensLinks,
  });
  const hostname = "digitalassetlinks.googleapis.com";
  return { hostname, path: `/v1/statements:list?${String(query)}`, agent: ownAgent };
}

/** Reports each fault only once, even if it affects both files. */
function joinUnreached(
  hostname: string,
  fetched: readonly FetchedFile[],
): readonly DomainFinding[] {
  const found = fetched.flatMap((one) =>
    one.kind === "answered" ? [] : [judgeUnreached(hostname, one)],
  );
  return [...new Map(found.map((one) => [one.message, one])).values()];
}

const soon_ms = 14 * 24 * 60 * 60_000;

function judgeCertificate(
  hostname: string,
  fetched: readonly FetchedFile[],
  now: number,
): readonly DomainFinding[] {
  const [end] = fetched.flatMap((one) => (one.kind === "answered" ? one.certifiedUntil : []));
  if (end === undefined || !(end - now < soon_ms)) return [];
  const day = new Date(end).toISOString().slice(0, 10);
  const message = `The certificate of ${quote(hostname)} expires on ${day}.`;
  return [describe("warning", "tls_ends_soon", message, "Set up automatic renewal.")];
}
