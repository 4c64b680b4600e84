import type { AndroidAppFields, IosAppFields } from "../contract/apps.ts";
import { checkAndroidApp, checkIosApp, selectSha256 } from "../contract/rules/app-rules.ts";
import { encodePath, reservedFolders } from "../contract/rules/link-path.ts";
import { canAndroidOpen, canIosOpen } from "./decide-visit.ts";

/**
 * Writes the association files. With these, iOS and Android verify that a project's apps may open
 * its links. A file lists every app that can be verified, for all paths except those that stay in
 * the browser. Which app a link uses is decided at each visit.
 */

export type AssociationSystem = "ios" | "android";

export const associationPaths: Readonly<Record<AssociationSystem, string>> = {
  ios: "/.well-known/apple-app-site-association",
  android: "/.well-known/assetlinks.json",
};

/** Apple's size limit. Google also rejects large files, but does not publish a limit. */
export const mostFile_bytes = 128 * 1024;

export type AssociationFile = {
  readonly text: string;
  /** How many apps and excluded paths the file contains. Some may not fit. */
  readonly apps: number;
  readonly paths: number;
};

/** A path pattern that both Apple and Google support. The first matching pattern decides. */
type Component = { readonly "/": string; readonly exclude?: true };

/** Excludes the link host's own paths and `browserPaths`. The app opens all other paths. */
function listComponents(browserPaths: readonly string[]): readonly Component[] {
  return [
    ...reservedFolders.map((folder) => ({ "/": `/${folder}/*`, exclude: true }) as const),
    { "/": "*.qr", exclude: true },
    ...browserPaths.map((path) => ({ "/": `/${path}`, exclude: true }) as const),
    { "/": "*" },
  ];
}

export function writeIosFile(
  apps: readonly IosAppFields[],
  browserPaths: readonly string[],
): AssociationFile {
  const entries = apps.flatMap((app) => describeIosEntry(app) ?? []);
  // Encoded, because Apple compares paths as they are in the URL.
  const paths = browserPaths.map(encodePath);
  return writeWithinLimit(entries, paths, (named, excluded) => {
    const appIDs = named.map(({ appID }) => appID);
    const components = listComponents(excluded);
    return {
      applinks: { details: appIDs.length === 0 ? [] : [{ appIDs, components }] },
      webcredentials: { apps: appIDs },
      appclips: { apps: named.flatMap(({ clipID }) => clipID ?? []) },
    };
  });
}

/** Paths are not encoded, because Android compares decoded paths. */
export function writeAndroidFile(
  apps: readonly AndroidAppFields[],
  browserPaths: readonly string[],
): AssociationFile {
  const entries = apps.flatMap((app) => describeAndroidEntry(app) ?? []);
  return writeWithinLimit(entries, browserPaths, (named, excluded) => {
    const components = listComponents(excluded);
    return named.map((entry) => writeStatement(entry, components));
  });
}

/** Google's name for an app's permission to open links. */
export const opensLinks = "delegate_permission/common.handle_all_urls";

type AndroidEntry = NonNullable<ReturnType<typeof describeAndroidEntry>>;

/** Only Android 15 and later read the path patterns. Earlier versions ignore them. */
function writeStatement(
  { package_name, fingerprints }: AndroidEntry,
  components: readonly Component[],
) {
  return {
    relation: [opensLinks],
    target: {
      namespace: "android_app",
      package_name,
      sha256_cert_fingerprints: fingerprints,
    },
    relation_extensions: { [opensLinks]: { dynamic_app_link_components: components } },
  };
}

/**
 * Omits what does not fit: excluded paths first, and then the latest apps. An omitted app could not
 * open any links.
 */
function writeWithinLimit<App>(
  apps: readonly App[],
  paths: readonly string[],
  describe: (apps: readonly App[], paths: readonly string[]) => object,
): AssociationFile {
  const write = (named: number, excluded: number) =>
    JSON.stringify(describe(apps.slice(0, named), paths.slice(0, excluded)));
  const fits = (named: number, excluded: number) =>
    Buffer.byteLength(write(named, excluded)) <= mostFile_bytes;
  const named = findMost(apps.length, (count) => fits(count, 0));
  const excluded = findMost(paths.length, (count) => fits(named, count));
  return { text: write(named, excluded), apps: named, paths: excluded };
}

/** Finds the largest count that fits, by binary search. A count of zero always fits. */
function findMost(most: number, fits: (count: number) => boolean): number {
  if (fits(most)) return most;
  let [good, bad] = [0, most];
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    if (fits(middle)) good = middle;
    else bad = middle;
  }
  return good;
}

/**
 * Returns the IDs of an iOS app and its App Clip. Returns undefined if iOS cannot verify the app.
 */
export function describeIosEntry(
  app: IosAppFields,
): { readonly appID: string; readonly clipID: string | undefined } | undefined {
  if (!canIosOpen(app)) return undefined;
  const { team_id, bundle_id, clip_bundle_id: clip } = checkIosApp(app).values;
  const clipID = clip === null ? undefined : `${team_id}.${clip}`;
  return { appID: `${team_id}.${bundle_id}`, clipID };
}

/**
 * Returns the package name and fingerprints of an Android app. Returns undefined if Android cannot
 * verify the app.
 */
export function describeAndroidEntry(
  app: AndroidAppFields,
): { readonly package_name: string; readonly fingerprints: readonly string[] } | undefined {
  if (!canAndroidOpen(app)) return undefined;
  const { package_name } = checkAndroidApp(app).values;
  return { package_name, fingerprints: selectSha256(app) };
}
