import { reservedFolders } from "../contract/rules/link-path.ts";
import { androidAppStore, iosAppStore } from "../store/apps.ts";
import type { Tenant } from "../store/tenant.ts";
import { describeAndroidEntry, describeIosEntry } from "../visit/association-entries.ts";
import { answerFile, makeTag, type CachedFile } from "./cached-file.ts";
import type { Site } from "./sites.ts";

export type AssociationSystem = "ios" | "android";

/** Apple reads no more of its file (link-services.md §3), and Google's is held to the same. */
const mostFile_bytes = 128 * 1024;
/** More apps than fit into a file, however short their names are. */
const mostApps = 5000;

/**
 * Answers the two files by which iOS and Android verify that a project's apps may open its links.
 * They name every app that can be verified, for every path: which apps a link is for is decided
 * only when the link is visited.
 */
export function createAssociationFiles() {
  // A change of a project's apps makes another site of it, for which the files are built anew.
  const files = { ios: new WeakMap<Site, CachedFile>(), android: new WeakMap<Site, CachedFile>() };
  return async (site: Site, system: AssociationSystem, ifNoneMatch: string | undefined) => {
    const file = files[system].get(site) ?? (await buildFile(site.tenant, system));
    files[system].set(site, file);
    return answerFile(file, ifNoneMatch);
  };
}

async function buildFile(tenant: Tenant, system: AssociationSystem): Promise<CachedFile> {
  const body = await (system === "ios" ? buildIosFile(tenant) : buildAndroidFile(tenant));
  return { type: "application/json", etag: makeTag(body), read: () => Promise.resolve(body) };
}

const everyApp = {
  page: 1,
  limit: mostApps,
  filters: [],
  sorts: [{ field: "created_at", direction: "asc" }],
} as const;

/** The paths that the host answers itself open in the browser, all others in the app. */
const components = [
  ...reservedFolders.map((folder) => ({ "/": `/${folder}/*`, exclude: true })),
  { "/": "*.qr", exclude: true },
  { "/": "*" },
];

async function buildIosFile(tenant: Tenant): Promise<string> {
  const { items } = await iosAppStore.list(tenant, everyApp);
  const entries = items.flatMap((app) => describeIosEntry(app) ?? []);
  return writeWithinLimit(entries, (apps) => {
    const appIDs = apps.map(({ appID }) => appID);
    return {
      applinks: { details: appIDs.length === 0 ? [] : [{ appIDs, components }] },
      webcredentials: { apps: appIDs },
      appclips: { apps: apps.flatMap(({ clipID }) => clipID ?? []) },
    };
  });
}

async function buildAndroidFile(tenant: Tenant): Promise<string> {
  const { items } = await androidAppStore.list(tenant, everyApp);
  const entries = items.flatMap((app) => describeAndroidEntry(app) ?? []);
  return writeWithinLimit(entries, (apps) => apps.map(writeStatement));
}

type AndroidEntry = NonNullable<ReturnType<typeof describeAndroidEntry>>;

function writeStatement({ package_name, fingerprints }: AndroidEntry) {
  return {
    relation: ["delegate_permission/common.handle_all_urls"],
    target: {
      namespace: "android_app",
      package_name,
      sha256_cert_fingerprints: fingerprints,
    },
  };
}

/** When there are too many apps for one file, the ones that were registered first stay in it. */
function writeWithinLimit<App>(
  apps: readonly App[],
  describe: (apps: readonly App[]) => object,
): string {
  const body = JSON.stringify(describe(apps));
  if (Buffer.byteLength(body) <= mostFile_bytes) return body;
  return writeWithinLimit(apps.slice(0, Math.floor(apps.length * 0.9)), describe);
}
