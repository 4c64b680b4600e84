import type { ReadLink } from "../contract/links.ts";
import { addressFields } from "../contract/rules/link-rules.ts";
import { isBlank } from "../contract/text.ts";
import { showHidden } from "../text/show-hidden.ts";
import type { VisitedApps } from "../visit/decide-visit.ts";
import { readExplainedLink } from "../visit/explained-link.ts";
import { findLinkProblems, type LinkFault } from "../visit/find-link-problems.ts";
import { listAppFaults, type AuditedApps, type AuditedVisits } from "./audit-apps.ts";
import { createDuplicateSearch } from "./find-duplicates.ts";
import { createLoopSearch } from "./find-loops.ts";
import { createFindings, type Finding, type Found, type Window } from "./findings.ts";

/**
 * What is wrong over all links and apps of a project: links in, findings out. A link is looked at
 * once and forgotten, but for what a look at all of them together needs.
 */

type Audit = {
  readonly addLinks: (links: readonly ReadLink[]) => void;
  readonly finish: () => AuditEnd;
};

export type AuditEnd = {
  readonly findings: readonly Finding[];
  readonly checked: number;
  /** Links that do not show a field which is judged. */
  readonly unjudged: number;
};

type AuditOptions = {
  readonly apps: AuditedApps;
  /** Where the project's links live, as far as that is known. */
  readonly linkHost: string | undefined;
  readonly visits: AuditedVisits;
  readonly window: Window;
};

export function createAudit({ apps, linkHost, visits, window }: AuditOptions): Audit {
  const findings = createFindings(window);
  const searches = [createLoopSearch(linkHost), createDuplicateSearch()];
  let checked = 0;
  let unjudged = 0;
  for (const fault of listAppFaults(apps, visits)) findings.note(fault);
  return {
    addLinks: (links) => {
      checked += links.length;
      for (const link of links) {
        // A field that is not shown is unknown, not empty.
        if (judgedFields.some((field) => link[field] === undefined)) {
          unjudged += 1;
          continue;
        }
        const own = findApps(link, apps);
        for (const fault of listLinkFaults(link, own, visits)) findings.note(fault);
        for (const search of searches) search.add(link, own);
      }
    },
    finish: () => {
      for (const search of searches) for (const found of search.list()) findings.note(found);
      return { findings: findings.list(), checked, unjudged };
    },
  };
}

const judgedFields = [
  ...addressFields,
  ..."name path shortened_path ios_app_id android_app_id enable_forced_redirect".split(" "),
];

type OwnApps = VisitedApps & {
  /** The fields of those that are not registered any more. */
  readonly gone: readonly ("ios_app" | "android_app")[];
};

function findApps(link: ReadLink, { ios, android }: AuditedApps): OwnApps {
  const ios_app = ios?.get(link.ios_app_id ?? "");
  const android_app = android?.get(link.android_app_id ?? "");
  const isIosGone = ios !== undefined && ios_app === undefined && !isBlank(link.ios_app_id);
  const isAndroidGone =
    android !== undefined && android_app === undefined && !isBlank(link.android_app_id);
  return {
    ios_app,
    android_app,
    gone: [
      ...(isIosGone ? ["ios_app" as const] : []),
      ...(isAndroidGone ? ["android_app" as const] : []),
    ],
  };
}

function listLinkFaults(
  link: ReadLink,
  { gone, ...apps }: OwnApps,
  visits: AuditedVisits,
): readonly Found[] {
  const found: Found[] = [];
  const note = (rest: Omit<Found, "id" | "link">) => found.push({ ...rest, id: link.id, link });
  for (const field of gone) note({ code: "deleted_app", field });
  const explained = readExplainedLink(link, apps, visits);
  const problems = findLinkProblems(explained).filter(({ code }) => !toldOfApps.has(code));
  const isNowhere = nowhere.every((wanted) => problems.some(({ code }) => code === wanted));
  if (isNowhere) note({ code: "no_destination" });
  for (const { code, field, message } of problems) {
    if (isNowhere && nowhere.includes(code)) continue;
    if (code === "invalid_field") note({ code, field, detail: { rule: message } });
    else note({ code, ...(code === "http_address" && { field }) });
  }
  const name = link.name ?? "";
  if (showHidden(name) !== name) note({ code: "hidden_characters" });
  return found;
}

const nowhere: readonly LinkFault[] = [
  "no_ios_destination",
  "no_android_destination",
  "no_desktop_destination",
];

/** Told once of each app, and not again of each link that it is on. */
const toldOfApps: ReadonlySet<LinkFault> = new Set([
  "app_invalid",
  "app_unknown",
  "app_without_store_id",
  "no_open_button",
  "team_id_unfit",
  "short_fingerprints",
]);
