import { androidAppStore, iosAppStore, listBrowserPaths } from "../store/apps.ts";
import type { Tenant } from "../store/tables.ts";
import {
  writeAndroidFile,
  writeIosFile,
  type AssociationSystem,
} from "../visit/association-files.ts";
import { answerFile, makeTag, type CachedFile } from "./cached-file.ts";
import type { Site } from "./sites.ts";

/** More apps than fit into a file, even with the shortest names. */
const mostApps = 5000;

export type AnswerAssociationFile = ReturnType<typeof createAssociationFiles>;

/** Answers requests for the association files of a site. */
export function createAssociationFiles() {
  // A change to a project's apps or links creates a new site object, so its files are rebuilt.
  const files = { ios: createFiles(), android: createFiles() };
  return async (site: Site, system: AssociationSystem, ifNoneMatch: string | undefined) => {
    const file = files[system].get(site) ?? (await buildFile(site.tenant, system));
    files[system].set(site, file);
    return answerFile(file, ifNoneMatch);
  };
}

const createFiles = () => new WeakMap<Site, CachedFile>();

async function buildFile(tenant: Tenant, system: AssociationSystem): Promise<CachedFile> {
  const { paths } = await listBrowserPaths(tenant);
  const { text } =
    system === "ios"
      ? writeIosFile((await iosAppStore.list(tenant, everyApp)).items, paths)
      : writeAndroidFile((await androidAppStore.list(tenant, everyApp)).items, paths);
  return { type: "application/json", etag: makeTag(text), read: () => Promise.resolve(text) };
}

const everyApp = {
  page: 1,
  limit: mostApps,
  filters: [],
  sorts: [{ field: "created_at", direction: "asc" }],
} as const;
