import type { AndroidAppFields, IosAppFields } from "../contract/apps.ts";
import { checkAndroidApp, checkIosApp, selectSha256 } from "../contract/rules/app-rules.ts";
import { encodePath, reservedFolders } from "../contract/rules/link-path.ts";
import { canAndroidOpen, canIosOpen } from "./decide-visit.ts";

/**
 * The two files by which iOS and Android verify that a project's apps may open its links. They name
 * every app that can be verified, for every path but those that stay in the browser; which apps a
 * link is for is decided only when the link is visited.
 */

export type AssociationSystem = "ios" | "android";

export const associationPaths: Readonly<Record<AssociationSystem, string>> = {
  ios: "/.well-known/apple-app-site-association",
  android: "/.well-known/assetlinks.json",
};

/**
 * Apple reads no more of its file (link-services.md §3). Google refuses one that is too large
 * without saying what that is (ERROR_CODE_TOO_LARGE), so that its file is held to the same.
 */
export const mostFile_bytes = 128 * 1024;

export type AssociationFile = {
  readonly text: string;
  /** How many of the apps that can be verified are in it, and of the paths: the first ones. */
  readonly apps: number;
  readonly paths: number;
};

/** First match decides. Apple's and Google's patterns are of one form (next-2026-11.md §2). */
type Component = { readonly "/": string; readonly exclude?: true };

/** The paths that the host answers itself open in the browser, all others in the app. */
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
  // Apple compares what stands in the address.
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

/** Android compares what the address's path is when it is decoded. */
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

/** What an app may do that a statement of Google's form names. */
export const opensLinks = "delegate_permission/common.handle_all_urls";

type AndroidEntry = NonNullable<ReturnType<typeof describeAndroidEntry>>;

/** Android 15 and later go by the components; those before it know nothing of them. */
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
 * An app that is left out opens no link at all, so that paths go first; of too many apps, the ones
 * that were registered first stay.
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

/** The largest count that will do, where all smaller ones do as well; none, 0, always does. */
function findMost(most: number, will: (count: number) => boolean): number {
  if (will(most)) return most;
  let [good, bad] = [0, most];
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    if (will(middle)) good = middle;
    else bad = middle;
  }
  return good;
}

/** An iOS app by its app id, and its App Clip; undefined for an app that cannot be verified. */
export function describeIosEntry(
  app: IosAppFields,
): { readonly appID: string; readonly clipID: string | undefined } | undefined {
  if (!canIosOpen(app)) return undefined;
  const { team_id, bundle_id, clip_bundle_id: clip } = checkIosApp(app).values;
  const clipID = clip === null ? undefined : `${team_id}.${clip}`;
  return { appID: `${team_id}.${bundle_id}`, clipID };
}

/** An Android app by its package and its certificates. */
export function describeAndroidEntry(
  app: AndroidAppFields,
): { readonly package_name: string; readonly fingerprints: readonly string[] } | undefined {
  if (!canAndroidOpen(app)) return undefined;
  const { package_name } = checkAndroidApp(app).values;
  return { package_name, fingerprints: selectSha256(app) };
}
