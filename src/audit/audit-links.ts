import { androidApps, iosApps, type AndroidApp, type IosApp } from "../contract/apps.ts";
import type { ReceivedData } from "../contract/endpoint.ts";
import type { ReadLink } from "../contract/links.ts";
import { isOwnLinkAddress } from "../contract/rules/link-address.ts";
import { normalizeForSearch } from "../contract/rules/link-path.ts";
import { addressFields } from "../contract/rules/link-rules.ts";
import { fold, isBlank } from "../contract/text.ts";
import { hashValue } from "../text/digest.ts";
import { showHidden } from "../text/show-hidden.ts";
import {
  decideVisit,
  readDestination,
  type Platform,
  type VisitOptions,
  type VisitedApps,
} from "../visit/decide-visit.ts";
import {
  readExplainedLink,
  findLinkProblems,
  type LinkFault,
} from "../visit/find-link-problems.ts";
import {
  createFindings,
  type AuditFinding,
  type AuditProblem,
  type AuditSearch,
  type AuditWindow,
} from "./findings.ts";

/**
 * Audits all links and apps of a project. Does not keep links in memory, except for the parts that
 * the searches for duplicates and loops need.
 */

type LinkAudit = {
  readonly addLinks: (links: readonly ReadLink[]) => void;
  readonly finish: () => AuditResult;
};

export type AuditResult = {
  readonly findings: readonly AuditFinding[];
  readonly checked: number;
  /** The number of links that were checked only in part, because the server omits a field. */
  readonly unjudged: number;
};

type AuditOptions = {
  readonly apps: AuditedApps;
  readonly linkHost: string | undefined;
  readonly visits: AuditedVisits;
  readonly window: AuditWindow;
};

export function createAudit({ apps, linkHost, visits, window }: AuditOptions): LinkAudit {
  const findings = createFindings(window);
  const searches = [createLoopSearch(linkHost), createDuplicateSearch()];
  let checked = 0;
  let unjudged = 0;
  for (const fault of listAppFaults(apps, visits)) findings.note(fault);
  return {
    addLinks: (links) => {
      checked += links.length;
      for (const link of links) {
        const own = findApps(link, apps);
        // A missing field is unknown, not empty, so only the other fields are checked.
        const isWhole = judgedFields.every((field) => link[field] !== undefined);
        for (const fault of listLinkFaults(link, own, visits)) {
          if (isWhole || faultsOfFields.has(fault.code)) findings.note(fault);
        }
        if (!isWhole) unjudged += 1;
        else for (const search of searches) search.add(link, own);
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

type LinkApps = VisitedApps & {
  readonly deletedApps: readonly ("ios_app" | "android_app")[];
};

function findApps(link: ReadLink, { ios, android }: AuditedApps): LinkApps {
  const ios_app = ios?.get(link.ios_app_id ?? "");
  const android_app = android?.get(link.android_app_id ?? "");
  const isIosGone = ios !== undefined && ios_app === undefined && !isBlank(link.ios_app_id);
  const isAndroidGone =
    android !== undefined && android_app === undefined && !isBlank(link.android_app_id);
  return {
    ios_app,
    android_app,
    deletedApps: [
      ...(isIosGone ? ["ios_app" as const] : []),
      ...(isAndroidGone ? ["android_app" as const] : []),
    ],
  };
}

function listLinkFaults(
  link: ReadLink,
  { deletedApps, ...apps }: LinkApps,
  visits: AuditedVisits,
): readonly AuditProblem[] {
  const found: AuditProblem[] = [];
  const note = (rest: Omit<AuditProblem, "id" | "link">) =>
    found.push({ ...rest, id: link.id, link });
  for (const field of deletedApps) note({ code: "deleted_app", field });
  const explained = readExplainedLink(link, apps, visits);
  const problems = findLinkProblems(explained).filter(({ code }) => !faultsOfApps.has(code));
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

/** Problems of a single field, whatever the other fields are. */
const faultsOfFields: ReadonlySet<AuditProblem["code"]> = new Set([
  "campaign_token_unfit",
  "deleted_app",
  "hidden_characters",
  "http_address",
  "invalid_field",
]);

/** Problems that are reported once per app instead of once per link. */
const faultsOfApps: ReadonlySet<LinkFault> = new Set([
  "app_invalid",
  "app_unknown",
  "app_without_store_id",
  "no_open_button",
  "team_id_unfit",
  "short_fingerprints",
]);

/** A project's apps by ID. Undefined if not all apps could be read. */
type AuditedApps = {
  readonly ios: ReadonlyMap<string, ReceivedData<IosApp>> | undefined;
  readonly android: ReadonlyMap<string, ReceivedData<AndroidApp>> | undefined;
};

type AuditedVisits = Pick<VisitOptions, "link_in_referrer" | "second_host">;

/** Checks each app with a sample link that opens the app. */
function listAppFaults(
  { ios, android }: AuditedApps,
  visits: AuditedVisits,
): readonly AuditProblem[] {
  return [
    ...[...(ios?.values() ?? [])].flatMap((app) => listFaults("ios", app, visits)),
    ...[...(android?.values() ?? [])].flatMap((app) => listFaults("android", app, visits)),
  ];
}

function listFaults(
  platform: "ios" | "android",
  app: ReceivedData<IosApp> | ReceivedData<AndroidApp>,
  visits: AuditedVisits,
): readonly AuditProblem[] {
  if (appFields[platform].some((field) => app[field] === undefined)) return [];
  const { id } = app;
  const link = { id, url: sampleUrl, [`${platform}_app_id`]: id };
  const apps: VisitedApps = { [`${platform}_app`]: app };
  const problems = findLinkProblems(readExplainedLink(link, apps, visits));
  const own = problems.filter(({ field = "" }) => field.startsWith(`${platform}_app.`));
  return own.map(({ code, field, message }) =>
    code === "app_invalid" ? { code, id, field, detail: { rule: message } } : { code, id },
  );
}

const appFields = {
  ios: Object.keys(iosApps.show.response.shape),
  android: Object.keys(androidApps.show.response.shape),
} as const;

/** The sample link's destination. It is valid, so every problem found is caused by the app. */
const sampleUrl = "https://destination.example";

/**
 * Finds links with the same name, destinations and apps. Links with different names are probably
 * intentional, to count the visits of each channel.
 */
function createDuplicateSearch(): AuditSearch {
  /** Maps a digest of the name, destinations and apps to the IDs of the links that share them. */
  const sets = new Map<string, string[]>();
  return {
    add: (link) => {
      const parts = destinationFields.map((field) => link[field] ?? "");
      if (parts.every((part) => isBlank(part) || part === false)) return;
      const key = hashValue([fold((link.name ?? "").trim()), ...parts]);
      const set = sets.get(key);
      if (set === undefined) sets.set(key, [link.id]);
      else set.push(link.id);
    },
    list: () => {
      const all = [...sets.values()].filter(({ length }) => length > 1);
      const detail = { sets: all.length };
      return all.flat().map((id) => ({ code: "duplicate", id, detail }));
    },
  };
}

/** The fields that decide where a link's visitors end up. */
const destinationFields = [
  "url",
  "ios_fallback_url",
  "android_fallback_url",
  "ios_app_id",
  "android_app_id",
  "enable_forced_redirect",
  "ios_deferred_deep_linking_enabled",
  "referrer",
  "provider_token",
  "campaign_token",
] as const satisfies readonly (keyof ReadLink)[];

/**
 * Finds links in redirect loops, and links that redirect into a loop. To save memory, it keeps only
 * links that redirect to another link of the project.
 */
function createLoopSearch(linkHost: string | undefined): AuditSearch {
  const candidates: RedirectingLink[] = [];
  return {
    add: (link, apps) => {
      if (!addressFields.some((field) => isOwnLinkAddress(link[field] ?? "", linkHost))) return;
      const next = platforms.map((platform) => readNext(link, apps, platform, linkHost));
      const paths = [link.path, link.shortened_path].flatMap((path) => path ?? []);
      candidates.push({ id: link.id, paths: paths.map(normalizeForSearch), next });
    },
    list: () => {
      const byPath = new Map(candidates.flatMap((link) => link.paths.map((path) => [path, link])));
      const looping = platforms.map((_, place) => findLoopingLinks(candidates, place, byPath));
      const found = candidates.filter((link) => looping.some((links) => links.has(link)));
      return found.map(({ id }) => ({ code: "loop", id }));
    },
  };
}

const platforms = ["ios", "android", "desktop"] as const satisfies readonly Platform[];

/** A link that redirects to a link of the same project, or to itself. */
type RedirectingLink = {
  readonly id: string;
  readonly paths: readonly string[];
  /**
   * The path of the next link on each platform. Undefined if the link does not redirect to a link
   * of the project.
   */
  readonly next: readonly (string | undefined)[];
};

function readNext(
  link: ReadLink,
  apps: VisitedApps,
  platform: Platform,
  linkHost: string | undefined,
): string | undefined {
  const { to = "" } = readDestination(decideVisit(link, apps, { platform })) ?? {};
  return isOwnLinkAddress(to, linkHost) ? normalizeForSearch(new URL(to).pathname) : undefined;
}

/**
 * Finds links whose redirect chain ends in a loop. Follows each link only once, because links share
 * parts of their redirect chains.
 */
function findLoopingLinks(
  links: readonly RedirectingLink[],
  place: number,
  byPath: ReadonlyMap<string, RedirectingLink>,
): ReadonlySet<RedirectingLink> {
  const looping = new Set<RedirectingLink>();
  const done = new Set<RedirectingLink>();
  for (const start of links) {
    const route = new Set<RedirectingLink>();
    let link: RedirectingLink | undefined = start;
    while (link !== undefined && !done.has(link) && !route.has(link)) {
      route.add(link);
      link = byPath.get(link.next[place] ?? "");
    }
    const isLooping = link !== undefined && (route.has(link) || looping.has(link));
    for (const passed of route) {
      done.add(passed);
      if (isLooping) looping.add(passed);
    }
  }
  return looping;
}
