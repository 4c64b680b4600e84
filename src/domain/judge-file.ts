import type { AssociationSystem } from "../visit/association-files.ts";
import { describe, listNames, systems, type DomainFinding } from "./finding.ts";
import { readNamedApps, type NamedApps } from "./read-files.ts";

/** Compares a served association file with the expected one. */

export type ExpectedFile = {
  /** The file as Waypost writes it. */
  readonly text: string;
  /** Whether the host must serve exactly this file. A remote server may write it differently. */
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

export function readExpected(system: AssociationSystem, { text }: ExpectedFile): NamedApps {
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

export function listMissing(
  all: ReadonlySet<string>,
  others: ReadonlySet<string>,
): readonly string[] {
  return [...all].filter((one) => !others.has(one));
}
