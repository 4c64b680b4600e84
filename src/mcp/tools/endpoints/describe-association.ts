import type { JsonObject } from "../../../contract/json.ts";
import type { ResourceKind } from "../../../contract/resource-kind.ts";
import { findFingerprintWarning, findTeamIdWarning } from "../../../contract/rules/app-rules.ts";
import { describeAndroidEntry, describeIosEntry } from "../../../visit/association-files.ts";
import type { Fact } from "../../approval/question.ts";

/** The lines that an association file gains and loses; none if it stays unchanged. */
export function describeAssociation(
  kind: ResourceKind,
  before: JsonObject | undefined,
  after: JsonObject | undefined,
): readonly Fact[] {
  const file = files[kind.name];
  if (file === undefined) return [];
  const { name } = file;
  const [old = [], fresh = []] = [before, after].map((app) => app && file.list(app));
  const removed = old.filter((line) => !fresh.includes(line));
  const added = fresh.filter((line) => !old.includes(line));
  const lines = [
    ...removed.map((text) => ({ kind: "removed", text }) as const),
    ...added.map((text) => ({ kind: "added", text }) as const),
  ];
  const warning = after && file.findWarning(after);
  const warnings = warning === undefined ? [] : [warning];
  if (lines.length > 0) return [{ name, kind: "lines", lines, warnings }];
  return warning === undefined ? [] : [{ name, text: "unchanged", warnings }];
}

type AppAssociationFile = {
  readonly name: string;
  readonly list: (app: JsonObject) => readonly string[];
  /** Describes the app's fields that the operating system ignores. */
  readonly findWarning: (app: JsonObject) => string | undefined;
};

/** The association file by kind of app. */
const files: Readonly<Record<string, AppAssociationFile>> = {
  ios_app: {
    name: "apple-app-site-association",
    list: (app) => {
      const entry = describeIosEntry(app);
      if (entry === undefined) return [];
      const clip = entry.clipID === undefined ? [] : [`App Clip ${entry.clipID}`];
      return [`app ${entry.appID}`, ...clip];
    },
    findWarning: findTeamIdWarning,
  },
  android_app: {
    name: "assetlinks.json",
    list: (app) => {
      const entry = describeAndroidEntry(app);
      return (entry?.fingerprints ?? []).map((print) => `${entry?.package_name} ${print}`);
    },
    findWarning: findFingerprintWarning,
  },
};
