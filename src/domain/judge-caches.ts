import type { FetchedFile, FileAnswer } from "../network/hosts/fetch-file.ts";
import { quote } from "../text/show-hidden.ts";
import type { AssociationSystem } from "../visit/association-files.ts";
import { describe, listNames, systems, type DomainFinding } from "./finding.ts";
import { readExpected, without, type ExpectedFile } from "./judge-file.ts";
import { readGoogleAnswer, readNamedApps } from "./read-files.ts";

/** What Apple and Google keep of a host: phones ask them, and not the host. */

export type Cached = {
  readonly fetched: FetchedFile;
  /** What the host itself serves, where that could be read. */
  readonly served: unknown;
  readonly expected: ExpectedFile | undefined;
};

export function judgeAppleCache({ fetched, served, expected }: Cached): readonly DomainFinding[] {
  if (fetched.kind !== "answered") return [describeUnknown("ios")];
  const { status } = fetched;
  if (status === 404) return [describeMissing(fetched)];
  const content = status === 200 ? readJson(fetched) : undefined;
  const named = readNamedApps("ios", content);
  if (named === undefined) return [describeUnknown("ios")];
  const wanted = expected && readExpected("ios", expected);
  const lacking = wanted && [
    ...without(wanted.apps, named.apps),
    ...without(wanted.clips, named.clips),
  ];
  const current = findCurrent("ios", served, expected);
  const isOther = current !== undefined && current !== JSON.stringify(content);
  return lacking?.length || isOther ? [describeStale("ios", lacking ?? [])] : [];
}

/** Apple says there why it has no file, in its own words and in those of the host. */
function describeMissing({ headers }: FileAnswer): DomainFinding {
  const reason = headers.get("apple-failure-reason");
  const told = reason === undefined ? "" : ` Apple's reason: ${quote(reason)}.`;
  return describe(
    "error",
    "ios_cache_missing",
    `Apple has no association file for this host, so no link opens an app on iOS.${told}`,
    "Fix the other findings. If there are none, make sure that nothing blocks AASA-Bot, and " +
      "check again in an hour.",
  );
}

export function judgeGoogleCache({ fetched, served, expected }: Cached): readonly DomainFinding[] {
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
  const wanted = expected && readExpected("android", expected);
  const current = findCurrent("android", served, expected);
  const known = current === undefined ? undefined : readNamedApps("android", JSON.parse(current));
  const lacking = without(wanted?.apps ?? new Set(), answer.apps);
  const isOther = known !== undefined && without(answer.apps, known.apps).length > 0;
  return lacking.length > 0 || isOther ? [describeStale("android", lacking)] : [];
}

/** What should be kept: of a deployment elsewhere it is only known what it serves itself. */
function findCurrent(
  system: AssociationSystem,
  served: unknown,
  expected: ExpectedFile | undefined,
): string | undefined {
  if (expected?.isWhole === true) return expected.text;
  return readNamedApps(system, served) && JSON.stringify(served);
}

function describeStale(system: AssociationSystem, lacking: readonly string[]): DomainFinding {
  const { reader } = systems[system];
  const apps = lacking.length === 0 ? "" : `, without ${listNames(lacking)}`;
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
