import { mostBrowserPaths } from "../contract/rules/browser-path.ts";
import {
  mostFile_bytes,
  type AssociationFile,
  type AssociationSystem,
} from "../visit/association-files.ts";
import { describe, listNames, systems, type DomainFinding } from "./finding.ts";

/** What belongs into Waypost's own association files and is not in them. */

/** Links that name no app. */
export type BrowserLinks = {
  /** Those of their paths that the files have to name. */
  readonly paths: readonly string[];
  /** Whether these are all of their paths. */
  readonly areAll: boolean;
  readonly count: number;
};

/** `names` are those of the apps that can be verified, as they are in the file. */
export function describeAppsLeftOut(
  system: AssociationSystem,
  names: readonly string[],
  file: Pick<AssociationFile, "apps"> | undefined,
): readonly DomainFinding[] {
  const left = names.slice(file?.apps ?? names.length);
  if (left.length === 0) return [];
  const { name, file: written } = systems[system];
  const message =
    `${written} is limited to ${most_KB} KB and has no room for ${listNames(left)}. Links do not ` +
    `open ${left.length === 1 ? "it" : "them"} on ${name}.`;
  const fix = "Delete apps that are not in use, or move some to another project.";
  return [describe("error", `${system}_apps_left_out`, message, fix)];
}

const most_KB = mostFile_bytes / 1024;

/** How many of the paths each system's file names. */
type Told = readonly (readonly [AssociationSystem, number])[];

export function describePathsLeftOut(
  { paths, areAll, count }: BrowserLinks,
  told: Told,
): readonly DomainFinding[] {
  const areAllTold = told.every(([, some]) => some === paths.length);
  if (told.length === 0 || (areAll && areAllTold)) return [];
  const most = `${mostBrowserPaths}${areAllTold ? "" : ` or ${most_KB} KB of the file`}`;
  const message =
    `${count} links have no app. The association files list only some of their ` +
    `paths (${countTold(told)}): the oldest without * or ?, up to ${most}. These always open in ` +
    "the browser. The other paths open an installed app.";
  const fix =
    "Set an app on links that should open one, or move links to web pages to another project.";
  return [describe("warning", "browser_links_left_out", message, fix)];
}

/** For each system, where they differ. */
function countTold(told: Told): string {
  const counts = new Set(told.map(([, count]) => count));
  if (counts.size === 1) return [...counts].join("");
  return told.map(([system, count]) => `${count} on ${systems[system].name}`).join(" and ");
}
