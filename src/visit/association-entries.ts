import type { AndroidAppFields, IosAppFields } from "../contract/apps.ts";
import { checkAndroidApp, checkIosApp, selectSha256 } from "../contract/rules/app-rules.ts";
import { canAndroidOpen, canIosOpen } from "./decide-visit.ts";

/**
 * What the domain vouches for by its two association files: the link host writes it into them, and
 * a person who approves of an app is shown it.
 */

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
