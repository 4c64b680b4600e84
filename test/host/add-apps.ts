import { sha256 } from "../contract/sample-link.ts";
import type { LinkHost } from "../support/link-host.ts";

/** The names of the two apps; an app without one has no name. */
type Names = { readonly ios?: string; readonly android?: string };

const bundle_id = "com.example.a";
const package_name = bundle_id;

/** Registers an iOS and an Android app, and returns the fields that select them for a link. */
export async function addApps({ add }: Pick<LinkHost, "add">, { ios, android }: Names = {}) {
  const found = { team_id: "ABCDE12345", app_store_id: "1", custom_scheme: "shop" };
  await add("ios_app", { bundle_id, ...found, name: ios });
  await add("android_app", { package_name, fingerprints: [sha256], name: android });
  return { ios_app: { bundle_id }, android_app: { package_name } };
}
