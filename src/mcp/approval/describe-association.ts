import { androidApps, iosApps } from "../../contract/apps.ts";
import type { JsonObject } from "../../contract/json.ts";
import { findKind, type ResourceKind } from "../../contract/resource-kind.ts";
import { findFingerprintWarning, findTeamIdWarning } from "../../contract/rules/app-rules.ts";
import { describeAndroidEntry, describeIosEntry } from "../../visit/association-files.ts";
import type { Fact, Line } from "./approval-request.ts";

/** The lines that an association file gains and loses; none where it stays as it is. */
export function describeAssociation(
  kind: ResourceKind,
  before: JsonObject | undefined,
  after: JsonObject | undefined,
): readonly Fact[] {
  const file = files[kind.name];
  if (file === undefined) return [];
  const old = before === undefined ? [] : file.list(before);
  const fresh = after === undefined ? [] : file.list(after);
  const lines: readonly Line[] = [
    ...listMissing(old, fresh).map((text) => ({ kind: "removed", text }) as const),
    ...listMissing(fresh, old).map((text) => ({ kind: "added", text }) as const),
  ];
  const warning = after && file.findWarning?.(after);
  const warnings = warning === undefined ? [] : [warning];
  if (lines.length > 0) return [{ name: file.name, kind: "lines", lines, warnings }];
  return warning === undefined ? [] : [{ name: file.name, text: "unchanged", warnings }];
}

function listMissing(lines: readonly string[], others: readonly string[]): readonly string[] {
  return lines.filter((line) => !others.includes(line));
}

type AssociationFile = {
  readonly name: string;
  readonly list: (app: JsonObject) => readonly string[];
  /** What of the app the system ignores. */
  readonly findWarning?: (app: JsonObject) => string | undefined;
};

const files: Readonly<Record<string, AssociationFile>> = {
  [findKind(iosApps.show).name]: {
    name: "apple-app-site-association",
    list: (app) => {
      const entry = describeIosEntry(app);
      if (entry === undefined) return [];
      const clip = entry.clipID === undefined ? [] : [`App Clip ${entry.clipID}`];
      return [`app ${entry.appID}`, ...clip];
    },
    findWarning: findTeamIdWarning,
  },
  [findKind(androidApps.show).name]: {
    name: "assetlinks.json",
    list: (app) => {
      const entry = describeAndroidEntry(app);
      return (entry?.fingerprints ?? []).map((print) => `${entry?.package_name} ${print}`);
    },
    findWarning: findFingerprintWarning,
  },
};
