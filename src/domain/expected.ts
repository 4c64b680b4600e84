import {
  appKinds,
  readApps,
  readIfAllowed,
  type ProjectApp,
  type AppMember,
} from "../lists/project-apps.ts";
import { ListChanging } from "../lists/read-list.ts";
import type { Client } from "../client/client.ts";
import type { AndroidAppFields, IosAppFields } from "../contract/apps.ts";
import { browserPaths } from "../contract/own-endpoints.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { contract } from "../contract/index.ts";
import type { CallerSignal } from "../contract/waiting.ts";
import { mostBrowserPaths } from "../contract/rules/link-path.ts";
import {
  describeAndroidEntry,
  describeIosEntry,
  mostFile_bytes,
  writeAndroidFile,
  writeIosFile,
  type AssociationFile,
  type AssociationSystem,
} from "../visit/association-files.ts";
import { describe, listNames, systems, type DomainFinding } from "./finding.ts";
import type { ExpectedFile } from "./judge-answer.ts";

/** Determines which association files a host should serve. */

/**
 * The expected content of the association files. It is known only for apps and links that the key
 * may read.
 */
export type ExpectedFiles = {
  readonly files: Readonly<Partial<Record<AssociationSystem, ExpectedFile>>>;
  readonly findings: readonly DomainFinding[];
  /** Returns true unless the project is known to have no app on this platform. */
  readonly hasApps: (system: AssociationSystem) => boolean;
};

export type ProjectAccess = {
  readonly call: Client["call"];
  readonly signal: CallerSignal;
  readonly mayRead: (endpoint: Endpoint) => boolean;
  /** True if the service in this process generates the files. */
  readonly isOwn: boolean;
};

const { links } = contract;

export async function readProjectFiles(access: ProjectAccess): Promise<ExpectedFiles> {
  const { isOwn } = access;
  const [ios, android] = await Promise.all([
    readRows("ios_app", access),
    readRows("android_app", access),
  ]);
  const browser = isOwn ? await readBrowserLinks(access) : undefined;
  const paths = browser?.paths ?? [];
  const isWhole = browser !== undefined;
  const files = {
    ...(ios && { ios: { ...writeIosFile(ios, paths), isWhole } }),
    ...(android && { android: { ...writeAndroidFile(android, paths), isWhole } }),
  };
  const named = {
    ios: nameAll(ios, describeIosEntry),
    android: nameAll(android, describeAndroidEntry),
  };
  const hasApps = (system: AssociationSystem) => named[system]?.fit.length !== 0;
  const withApps = bothSystems.filter(hasApps);
  // If the key cannot read the apps, assume that the file lists all paths.
  const listed = withApps.map((system) => [system, files[system]?.paths ?? paths.length] as const);
  return {
    files,
    findings: [
      ...bothSystems.flatMap((system) =>
        files[system] === undefined ? [describeUnread(system)] : [],
      ),
      ...(withApps.length > 0 ? [] : [noApps]),
      ...describeUnfit(named.ios?.unfit, named.android?.unfit),
      ...bothSystems.flatMap((system) =>
        isOwn ? describeAppsLeftOut(system, named[system]?.fit ?? [], files[system]) : [],
      ),
      ...(browser === undefined ? [] : describePathsLeftOut(browser, listed)),
    ],
    hasApps,
  };
}

const bothSystems = ["ios", "android"] as const;

/** Returns undefined if not all apps could be read. */
async function readRows(
  member: AppMember,
  { call, signal, mayRead }: ProjectAccess,
): Promise<readonly ProjectApp[] | undefined> {
  if (!mayRead(appKinds[member].index)) return undefined;
  try {
    const found = await readIfAllowed(() => readApps(member, { call, signal }));
    return found?.unread === 0 ? found.rows : undefined;
  } catch (error) {
    if (error instanceof ListChanging) return undefined;
    throw error;
  }
}

async function readBrowserLinks(access: ProjectAccess): Promise<BrowserLinks | undefined> {
  const { call, signal, mayRead } = access;
  if (!mayRead(links.index)) return undefined;
  const filters = ["ios_app_bundle_id", "android_app_package_name"].map(
    (field) => ({ field, condition: "null", value: true }) as const,
  );
  return readIfAllowed(async () => {
    const [{ browser_paths }, { meta }] = await Promise.all([
      call(browserPaths.index, {}, signal),
      call(links.index, { filters, page: 1, limit: 1 }, signal),
    ]);
    return {
      paths: browser_paths.paths,
      areAll: browser_paths.are_all,
      count: meta.count ?? 0,
    };
  });
}

type NamesByFit = { readonly fit: readonly string[]; readonly unfit: readonly string[] };

function nameAll<App extends IosAppFields & AndroidAppFields>(
  apps: readonly App[] | undefined,
  describeEntry: (app: App) => object | undefined,
): NamesByFit | undefined {
  if (apps === undefined) return undefined;
  const list = (isFit: boolean) =>
    apps
      .filter((app) => (describeEntry(app) !== undefined) === isFit)
      .map(({ bundle_id, package_name }) => bundle_id ?? package_name ?? "");
  return { fit: list(true), unfit: list(false) };
}

function describeUnread(system: AssociationSystem): DomainFinding {
  const { name, file } = systems[system];
  return describe(
    "info",
    `${system}_apps_unread`,
    `This key cannot read the ${name} apps, so ${file} was not compared with them.`,
    `Use a project's key with the scope ${system}_apps.index.`,
  );
}

const noApps = describe(
  "info",
  "no_apps",
  "The project has no app that phones can verify, so its links only open web pages.",
  "If links should open an app, register it or correct its fields.",
);

function describeUnfit(
  ios: readonly string[] = [],
  android: readonly string[] = [],
): readonly DomainFinding[] {
  return [
    ...(ios.length === 0
      ? []
      : [
          describe(
            "warning",
            "ios_app_unfit",
            `The association file leaves out ${listNames(ios)}, because of an invalid bundle ID ` +
              "or Team ID.",
            "Copy both from Xcode.",
          ),
        ]),
    ...(android.length === 0
      ? []
      : [
          describe(
            "warning",
            "android_app_unfit",
            `The association file leaves out ${listNames(android)}, because the SHA-256 ` +
              "fingerprint is missing.",
            "Add the fingerprint of the app signing key from the Play Console.",
          ),
        ]),
  ];
}

type BrowserLinks = {
  /** The paths that the files exclude, so that their links stay in the browser. */
  readonly paths: readonly string[];
  /** False if `paths` omits some links without an app. */
  readonly areAll: boolean;
  readonly count: number;
};

/** Reports apps that do not fit into the file. `names` contains all apps, in the file's order. */
function describeAppsLeftOut(
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

type ListedPathCounts = readonly (readonly [AssociationSystem, number])[];

/** Reports the paths of links without an app that do not fit into the files. */
function describePathsLeftOut(
  { paths, areAll, count }: BrowserLinks,
  listed: ListedPathCounts,
): readonly DomainFinding[] {
  const areAllListed = listed.every(([, some]) => some === paths.length);
  if (listed.length === 0 || (areAll && areAllListed)) return [];
  const most = `${mostBrowserPaths}${areAllListed ? "" : ` or ${most_KB} KB of the file`}`;
  const message =
    `${count} links have no app. The association files list only some of their ` +
    `paths (${describeCounts(listed)}): the oldest without * or ?, up to ${most}. These always ` +
    "open in the browser. The other paths open an installed app.";
  const fix =
    "Set an app on links that should open one, or move links to web pages to another project.";
  return [describe("warning", "browser_links_left_out", message, fix)];
}

/** Returns one number if the counts are equal, and otherwise one per platform. */
function describeCounts(listed: ListedPathCounts): string {
  const counts = new Set(listed.map(([, count]) => count));
  if (counts.size === 1) return [...counts].join("");
  return listed.map(([system, count]) => `${count} on ${systems[system].name}`).join(" and ");
}
