import { mostBrowserPaths, readBrowserPath } from "../contract/rules/browser-path.ts";
import { isBlank } from "../contract/text.ts";
import type { Tenant } from "./tenant.ts";

/** What stays in the browser. */
export type BrowserPaths = {
  readonly paths: readonly string[];
  /** Whether these are all paths and short paths of links that name no app. */
  readonly areAll: boolean;
};

/**
 * The paths and short paths of the oldest links that name no app, then the short paths of their
 * addresses with a query. A new link changes nothing for those that were before it.
 */
export async function listBrowserPaths({ db, projectId }: Tenant): Promise<BrowserPaths> {
  // There is an index of just those.
  const links = await db
    .selectFrom("links")
    .select(["id", "path", "shortened_path"])
    .where("project_id", "=", projectId)
    .where("ios_app_id", "is", null)
    .where("android_app_id", "is", null)
    .orderBy("created_at")
    .orderBy("id")
    .limit(mostBrowserPaths + 1)
    .execute();
  const shortPaths = await db
    .selectFrom("short_paths")
    .select("path")
    .where("project_id", "=", projectId)
    .where("link_id", "in", [...links.map(({ id }) => id), ""])
    .orderBy("path")
    .limit(mostBrowserPaths + 1)
    .execute();
  const named = [
    ...links.flatMap(({ path, shortened_path }) => [path, shortened_path ?? ""]),
    ...shortPaths.map(({ path }) => path),
  ].filter((path) => !isBlank(path));
  const paths = named.flatMap((path) => readBrowserPath(path) ?? []).slice(0, mostBrowserPaths);
  return { paths, areAll: paths.length === named.length };
}
