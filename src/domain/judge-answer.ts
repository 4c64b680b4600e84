import * as z from "zod";
import type { FetchedFile, FileAnswer } from "../network/hosts/fetch-file.ts";
import { quote } from "../text/show-hidden.ts";
import { mostFile_bytes, opensLinks, type AssociationSystem } from "../visit/association-files.ts";
import { describe, listNames, systems, type DomainFinding } from "./finding.ts";

/** Judges responses to requests for association files, in the way that Apple and Google do. */

type JudgedAnswer = {
  readonly findings: readonly DomainFinding[];
  /** The parsed file, if it is readable. */
  readonly content: unknown;
};

export function judgeUnreached(
  host: string,
  fetched: Exclude<FetchedFile, { readonly kind: "answered" }>,
): DomainFinding {
  switch (fetched.kind) {
    case "not_public":
      return describe(
        "error",
        "host_not_public",
        `On this server, ${quote(host)} does not resolve to a public address.`,
        "Point its A or AAAA records at your proxy's public address, not at a private one.",
      );
    case "unreachable":
      return describe(
        "error",
        "host_unreachable",
        `This machine cannot reach the addresses of ${quote(host)}.`,
        "Check its A and AAAA records, and this machine's internet connection.",
      );
    case "refused":
      return describe(
        "error",
        "host_refuses",
        `${quote(host)} refuses connections on port 443.`,
        "Run a proxy with TLS on port 443, and open the port in the firewall.",
      );
    case "timed_out":
      return describe(
        "error",
        "host_too_slow",
        `${quote(host)} did not send a complete answer within 10 seconds.`,
        "Check that the firewall allows port 443, and that the proxy can reach Waypost.",
      );
    case "untrusted":
      return describe("error", "tls_invalid", ...explainTls(host, fetched.code));
    case "unreadable":
      return describe(
        "error",
        "host_unreadable",
        `${quote(host)} closed the connection or did not answer in HTTP.`,
        "Check the proxy's log. Port 443 must serve HTTPS.",
      );
  }
}

function explainTls(host: string, code: string): readonly [message: string, fix: string] {
  const certificate = `The certificate of ${quote(host)}`;
  if (code === "CERT_HAS_EXPIRED") return [`${certificate} has expired.`, "Renew it."];
  if (code === "CERT_NOT_YET_VALID") {
    return [
      `${certificate} is not valid yet.`,
      "Correct the server's clock, or get a new certificate.",
    ];
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const fix = "Get a certificate for this host name, and serve it for this host (SNI).";
    return [`${certificate} is for other hosts.`, fix];
  }
  if (code.includes("SELF_SIGNED")) {
    const fix = "Get one from a certificate authority that phones trust, such as Let's Encrypt.";
    return [`${certificate} is self-signed, so phones do not trust it.`, fix];
  }
  if (code.includes("UNABLE_TO_")) {
    const fix = "Serve the full chain, including the authority's intermediate certificates.";
    return [`${certificate} comes without its intermediate certificates.`, fix];
  }
  if (code.includes("CERT") || !/^(?:EPROTO$|ERR_)/.test(code)) {
    return [`${certificate} is not valid.`, "Get a new server certificate."];
  }
  const fix = "Turn on TLS 1.2 or 1.3 for this host on the proxy's port 443.";
  return [`The TLS connection to ${quote(host)} failed.`, fix];
}

/** `others` is the response status for a different user agent; undefined without a response. */
export function judgeAnswer(
  system: AssociationSystem,
  answer: FileAnswer,
  others: number | undefined,
): JudgedAnswer {
  const { status } = answer;
  if (status !== 200) {
    return { findings: [judgeStatus(system, answer, others)], content: undefined };
  }
  const { findings, content } = readContent(system, answer);
  return { findings: [...judgeType(system, answer), ...findings], content };
}

function judgeStatus(
  system: AssociationSystem,
  { status, headers }: FileAnswer,
  others: number | undefined,
): DomainFinding {
  const { file, reader, agent } = systems[system];
  const location = headers.get("location");
  if (status >= 300 && status < 400 && location !== undefined) {
    return describe(
      "error",
      `${system}_file_redirected`,
      `${file} redirects to ${quote(location)} (${status}), but ${reader} does not follow ` +
        "redirects.",
      "Serve the file without a redirect: exclude /.well-known/ from your redirect rules.",
    );
  }
  if (others === 200) {
    return describe(
      "error",
      `${system}_agent_refused`,
      `${file} returns ${status} to ${agent}, which ${reader} uses, and 200 to other clients.`,
      `In the bot rules of your proxy or firewall, allow ${agent} to read /.well-known/.`,
    );
  }
  return describe(
    "error",
    `${system}_file_status`,
    `${file} returns ${status} instead of 200.`,
    status === 404
      ? "Have the proxy forward /.well-known/ to Waypost with the original Host header."
      : "Check the proxy's and Waypost's logs. The file must not require a login.",
  );
}

function judgeType(system: AssociationSystem, { headers }: FileAnswer): readonly DomainFinding[] {
  const written = headers.get("content-type") ?? "";
  const [type = ""] = written.split(";");
  if (type.trim().toLowerCase() === "application/json") return [];
  const { file } = systems[system];
  const found = written === "" ? "missing" : quote(written);
  return [
    describe(
      // For Apple, this is only a warning, because Apple usually reads the file anyway.
      system === "ios" ? "warning" : "error",
      `${system}_file_type`,
      `The Content-Type of ${file} is ${found}, but must be application/json.`,
      "Have the proxy keep the Content-Type that Waypost sends.",
    ),
  ];
}

function readContent(system: AssociationSystem, answer: FileAnswer): JudgedAnswer {
  const { body, isCut } = answer;
  const { file } = systems[system];
  const fail = (code: string, message: string, fix: string): JudgedAnswer => ({
    findings: [describe("error", `${system}_file_${code}`, `${file} ${message}`, fix)],
    content: undefined,
  });
  if (isCut || body.length > mostFile_bytes) {
    const fix = "Serve the file that Waypost generates, which never exceeds this size.";
    return fail("too_large", `is larger than ${mostFile_bytes / 1024} KB.`, fix);
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    return { findings: [], content: JSON.parse(text) };
  } catch {
    const fix = "Have the proxy forward /.well-known/ to Waypost. It may be serving its own page.";
    return fail("invalid", "is not valid JSON.", fix);
  }
}

/**
 * The copy of a host's file in Apple's or Google's cache. Phones read the copy, not the host's own
 * file.
 */
type CachedCopy = {
  readonly fetched: FetchedFile;
  /** The parsed file that the host itself serves. Undefined if it could not be read. */
  readonly served: unknown;
  readonly expected: ExpectedFile | undefined;
};

export function judgeAppleCache({
  fetched,
  served,
  expected,
}: CachedCopy): readonly DomainFinding[] {
  if (fetched.kind !== "answered") return [describeUnknown("ios")];
  const { status } = fetched;
  if (status === 404) return [describeMissing(fetched)];
  const content = status === 200 ? readJson(fetched) : undefined;
  const named = readNamedApps("ios", content);
  if (named === undefined) return [describeUnknown("ios")];
  const expectedApps = expected && readExpected("ios", expected);
  const missing = expectedApps && [
    ...listMissing(expectedApps.apps, named.apps),
    ...listMissing(expectedApps.clips, named.clips),
  ];
  const current = findCurrent("ios", served, expected);
  const isOther = current !== undefined && current !== JSON.stringify(content);
  return missing?.length || isOther ? [describeStale("ios", missing ?? [])] : [];
}

/** Reports that Apple's cache has no file for the host. A response header contains the reason. */
function describeMissing({ headers }: FileAnswer): DomainFinding {
  const reason = headers.get("apple-failure-reason");
  const because = reason === undefined ? "" : ` Apple's reason: ${quote(reason)}.`;
  return describe(
    "error",
    "ios_cache_missing",
    `Apple has no association file for this host, so no link opens an app on iOS.${because}`,
    "Fix the other findings. If there are none, make sure that nothing blocks AASA-Bot, and " +
      "check again in an hour.",
  );
}

export function judgeGoogleCache({
  fetched,
  served,
  expected,
}: CachedCopy): readonly DomainFinding[] {
  const isAnswered = fetched.kind === "answered" && fetched.status === 200;
  const answer = isAnswered ? readGoogleAnswer(readJson(fetched)) : undefined;
  if (answer === undefined) return [describeUnknown("android")];
  if (answer.errors.length > 0) {
    return [
      describe(
        "error",
        "android_cache_failed",
        `Google could not read assetlinks.json: ${answer.errors.join(", ")}.`,
        "Fix the other findings. If there are none, make sure that nothing blocks Google, and " +
          "check again in an hour.",
      ),
    ];
  }
  const expectedApps = expected && readExpected("android", expected);
  const current = findCurrent("android", served, expected);
  const known = current === undefined ? undefined : readNamedApps("android", JSON.parse(current));
  const missing = listMissing(expectedApps?.apps ?? new Set(), answer.apps);
  const isOther = known !== undefined && listMissing(answer.apps, known.apps).length > 0;
  return missing.length > 0 || isOther ? [describeStale("android", missing)] : [];
}

/**
 * Returns the file that the cache should contain: the expected file if all of it is known,
 * otherwise the file that the host serves.
 */
function findCurrent(
  system: AssociationSystem,
  served: unknown,
  expected: ExpectedFile | undefined,
): string | undefined {
  if (expected?.isWhole === true) return expected.text;
  return readNamedApps(system, served) && JSON.stringify(served);
}

function describeStale(system: AssociationSystem, missing: readonly string[]): DomainFinding {
  const { reader } = systems[system];
  const apps = missing.length === 0 ? "" : `, without ${listNames(missing)}`;
  return describe(
    "warning",
    `${system}_cache_stale`,
    `${reader} still has an older file for this host${apps}.`,
    system === "ios"
      ? "Wait. Apple reads the file again within a day, and phones do so when an app is " +
          "installed or updated."
      : "Wait. Google reads the file again within hours, and phones do so when an app is " +
          "installed or updated.",
  );
}

function describeUnknown(system: AssociationSystem): DomainFinding {
  const { reader } = systems[system];
  return describe(
    "info",
    `${system}_cache_unknown`,
    `${reader}'s copy of this host's file could not be read from this machine.`,
    "Check again later, from a machine with internet access.",
  );
}

function readJson({ body, isCut }: FileAnswer): unknown {
  if (isCut) return undefined;
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

export type ExpectedFile = {
  readonly text: string;
  /**
   * True if the host must serve exactly this text. A remote server may write its file differently.
   */
  readonly isWhole: boolean;
};

export function judgeFile(
  system: AssociationSystem,
  content: unknown,
  expected: ExpectedFile | undefined,
): readonly DomainFinding[] {
  const { file } = systems[system];
  const named = readNamedApps(system, content);
  if (named === undefined) {
    const message = `${file} is JSON, but does not have the required structure.`;
    const fix = "Have the proxy forward /.well-known/ to Waypost, and do not serve your own file.";
    return [describe("error", `${system}_file_form`, message, fix)];
  }
  if (expected === undefined) return [];
  const found = compareApps(system, named, readExpected(system, expected));
  const isOther = expected.isWhole && JSON.stringify(content) !== expected.text;
  if (found.length > 0 || !isOther) return found;
  const message = `${file} lists the right apps, but differs from what Waypost serves now.`;
  return [describe("warning", `${system}_file_differs`, message, staleFix)];
}

const staleFix =
  "If a proxy or CDN caches /.well-known/, purge it. If none does, check which other server " +
  "answers there.";

function readExpected(system: AssociationSystem, { text }: ExpectedFile): NamedApps {
  return readNamedApps(system, JSON.parse(text)) ?? { apps: new Set(), clips: new Set() };
}

function compareApps(
  system: AssociationSystem,
  named: NamedApps,
  expected: NamedApps,
): readonly DomainFinding[] {
  const { file, name } = systems[system];
  const missing = listMissing(expected.apps, named.apps);
  const clips = listMissing(expected.clips, named.clips);
  const foreign = [
    ...listMissing(named.apps, expected.apps),
    ...listMissing(named.clips, expected.clips),
  ];
  return [
    ...(missing.length === 0
      ? []
      : [
          describe(
            "error",
            `${system}_app_missing`,
            `${file} does not list ${listNames(missing)}, so links do not open it on ${name}.`,
            staleFix,
          ),
        ]),
    ...(clips.length === 0
      ? []
      : [
          describe(
            "error",
            `${system}_clip_missing`,
            `${file} does not list the App Clip ${listNames(clips)}.`,
            staleFix,
          ),
        ]),
    ...(foreign.length === 0
      ? []
      : [
          describe(
            "warning",
            `${system}_app_unknown`,
            `${file} lists ${listNames(foreign)}, but no registered app has these values.`,
            "If the app is yours, register it or fix its IDs. If not, check who serves the file.",
          ),
        ]),
  ];
}

function listMissing(all: ReadonlySet<string>, others: ReadonlySet<string>): readonly string[] {
  return [...all].filter((one) => !others.has(one));
}

/** The apps that an association file lists. */
type NamedApps = {
  /** On iOS, the App IDs. On Android, each package name with each of its fingerprints. */
  readonly apps: ReadonlySet<string>;
  /** App Clips, which only iOS has. */
  readonly clips: ReadonlySet<string>;
};

/** Returns undefined if the content is not an association file. */
function readNamedApps(system: AssociationSystem, content: unknown): NamedApps | undefined {
  return system === "ios" ? readIosFile(content) : readAndroidFile(content);
}

const names = z.array(z.string()).optional();
const iosFile = z.looseObject({
  applinks: z
    .looseObject({
      details: z.array(z.looseObject({ appID: z.string().optional(), appIDs: names })),
    })
    .optional(),
  appclips: z.looseObject({ apps: names }).optional(),
});

function readIosFile(content: unknown): NamedApps | undefined {
  const { data } = iosFile.safeParse(content);
  if (data === undefined) return undefined;
  const details = data.applinks?.details ?? [];
  return {
    apps: new Set(details.flatMap(({ appID, appIDs = [] }) => [...appIDs, ...toList(appID)])),
    clips: new Set(data.appclips?.apps),
  };
}

const androidFile = z.array(
  z.looseObject({
    relation: z.array(z.string()),
    target: z.looseObject({
      namespace: z.string(),
      package_name: z.string().optional(),
      sha256_cert_fingerprints: names,
    }),
  }),
);

function readAndroidFile(content: unknown): NamedApps | undefined {
  const { data } = androidFile.safeParse(content);
  if (data === undefined) return undefined;
  const apps = data
    .filter(({ relation }) => relation.includes(opensLinks))
    .flatMap(({ target: { package_name, sha256_cert_fingerprints: prints = [] } }) =>
      prints.map((print) => writeSigned(package_name ?? "", print)),
    );
  return { apps: new Set(apps), clips: new Set() };
}

/** Google's response. Contains the statements that Google has read from the host's file. */
const statements = z.looseObject({
  statements: z
    .array(
      z.looseObject({
        relation: z.string().optional(),
        target: z.looseObject({
          androidApp: z
            .looseObject({
              packageName: z.string(),
              certificate: z.looseObject({ sha256Fingerprint: z.string() }).optional(),
            })
            .optional(),
        }),
      }),
    )
    .optional(),
  errorCode: names,
});

type GoogleAnswer = NamedApps & { readonly errors: readonly string[] };

function readGoogleAnswer(content: unknown): GoogleAnswer | undefined {
  const { data } = statements.safeParse(content);
  if (data === undefined) return undefined;
  const apps = (data.statements ?? []).flatMap(({ target: { androidApp } }) => {
    const print = androidApp?.certificate?.sha256Fingerprint;
    return androidApp === undefined || print === undefined
      ? []
      : [writeSigned(androidApp.packageName, print)];
  });
  // Only Google's own error codes are shown. Other text from the response is not.
  const errors = (data.errorCode ?? []).filter((code) => /^[A-Z_]{1,60}$/.test(code));
  return { apps: new Set(apps), clips: new Set(), errors };
}

function writeSigned(packageName: string, print: string): string {
  return `${packageName} ${print.toUpperCase()}`;
}

function toList(name: string | undefined): readonly string[] {
  return name === undefined ? [] : [name];
}
