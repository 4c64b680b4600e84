import { isLoopbackHost } from "../network/ip-address.ts";
import type { FetchedFile, FetchFile } from "../network/hosts/fetch-file.ts";
import { quote } from "../text/show-hidden.ts";
import {
  associationPaths,
  mostFile_bytes,
  opensLinks,
  type AssociationSystem,
} from "../visit/association-files.ts";
import type { ExpectedFiles } from "./expected.ts";
import { describe, systems, type DomainFinding, type DomainReport } from "./finding.ts";
import { judgeAnswer, judgeAppleCache, judgeGoogleCache, judgeUnreached } from "./judge-answer.ts";
import { judgeFile } from "./judge-file.ts";

/**
 * Checks a link host as phones see it: its two association files, as Apple and Google request them,
 * and the copies that Apple and Google have cached.
 */

export type HostCheck = {
  /** The origin of the links. Association files are always requested over https. */
  readonly origin: string;
  readonly expected: ExpectedFiles;
  readonly fetchFile: FetchFile;
  readonly now: number;
  readonly signal: AbortSignal;
};

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
  // A second request shows whether only the user agent of Apple or Google is refused.
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

/** Reports a fault once, even if both files have it. */
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
