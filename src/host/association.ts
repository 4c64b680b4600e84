import type { AndroidApp, IosApp } from "../contract/apps.ts";
import { reservedFolders } from "../contract/rules/link-path.ts";
import { androidAppStore, iosAppStore } from "../store/apps.ts";
import type { Tenant } from "../store/tenant.ts";
import { canAndroidOpen, canIosOpen, selectAppLinkFingerprints } from "../visit/decide-visit.ts";
import type { Answer } from "./answer.ts";
import { answerFile, makeTag } from "./cached-file.ts";
import type { Site } from "./sites.ts";

/**
 * The two files by which iOS and Android verify that a project's apps may open its links. They
 * name every app that can be verified, for every path: which apps a link is for is decided here
 * only when the link is visited.
 */
export type Association = (
  site: Site,
  system: AssociationSystem,
  ifNoneMatch: string | undefined,
) => Promise<Answer | undefined>;

export type AssociationSystem = "ios" | "android";

/** Apple reads no more of its file (link-services.md §3), and Google's is held to the same. */
const longest_bytes = 128 * 1024;
/** More than fit, however short their names are. */
const mostApps = 5000;

type File = { readonly body: string; readonly etag: string };

export function createAssociation(): Association {
  // A site ends when its project's apps change, and its files with it.
  const kept = { ios: new WeakMap<Site, File>(), android: new WeakMap<Site, File>() };

  async function findFile(site: Site, system: AssociationSystem): Promise<File> {
    const known = kept[system].get(site);
    if (known !== undefined) return known;
    const build = system === "ios" ? buildIosFile : buildAndroidFile;
    const body = await build(site.tenant);
    const file = { body, etag: makeTag(body) };
    kept[system].set(site, file);
    return file;
  }

  return async (site, system, ifNoneMatch) => {
    const { body, etag } = await findFile(site, system);
    const read = () => Promise.resolve(body);
    return answerFile({ type: "application/json", etag, read }, ifNoneMatch);
  };
}

const everyApp = {
  page: 1,
  limit: mostApps,
  filters: [],
  sorts: [{ field: "created_at", direction: "asc" }],
} as const;

/** What the host answers itself stays in the browser. */
const components = [
  ...reservedFolders.map((folder) => ({ "/": `/${folder}/*`, exclude: true })),
  { "/": "*.qr", exclude: true },
  { "/": "*" },
];

async function buildIosFile(tenant: Tenant): Promise<string> {
  const { items } = await iosAppStore.list(tenant, everyApp);
  return writeFitting(items.filter(canIosOpen), (apps) => {
    const appIDs = apps.map(({ team_id, bundle_id }) => `${team_id}.${bundle_id}`);
    return {
      applinks: { details: appIDs.length === 0 ? [] : [{ appIDs, components }] },
      webcredentials: { apps: appIDs },
      appclips: { apps: apps.flatMap(nameClip) },
    };
  });
}

function nameClip({ team_id, clip_bundle_id }: IosApp): readonly string[] {
  return clip_bundle_id === null ? [] : [`${team_id}.${clip_bundle_id}`];
}

async function buildAndroidFile(tenant: Tenant): Promise<string> {
  const { items } = await androidAppStore.list(tenant, everyApp);
  return writeFitting(items.filter(canAndroidOpen), (apps) => apps.map(nameAndroidApp));
}

function nameAndroidApp(app: AndroidApp) {
  return {
    relation: ["delegate_permission/common.handle_all_urls"],
    target: {
      namespace: "android_app",
      package_name: app.package_name,
      sha256_cert_fingerprints: selectAppLinkFingerprints(app),
    },
  };
}

/** The apps that were there first keep working when there are too many for one file. */
function writeFitting<App>(
  apps: readonly App[],
  describe: (apps: readonly App[]) => object,
): string {
  const body = JSON.stringify(describe(apps));
  if (Buffer.byteLength(body) <= longest_bytes) return body;
  return writeFitting(apps.slice(0, Math.floor(apps.length * 0.9)), describe);
}
