import { setImmediate } from "node:timers/promises";
import {
  mostBrowserPaths,
  mostPathsLooked,
  readBrowserPath,
} from "../contract/rules/browser-path.ts";
import type { LinkTable } from "./tables.ts";
import type { Tenant } from "./tenant.ts";

/** What stays in the browser. */
export type BrowserPaths = {
  readonly paths: readonly string[];
  /** Whether these are all paths of links that name no app. */
  readonly areAll: boolean;
};

/**
 * The paths and short paths of the oldest links that name no app, and then the short paths of their
 * addresses with a query: there may be one for each visitor, and none takes a link's own place. A
 * new link changes nothing for those that were before it.
 */
export async function listBrowserPaths(tenant: Tenant): Promise<BrowserPaths> {
  const found = createCollection();
  const links: LinkOfNoApp[] = [];
  for (let page = 0; page < mostPages && !found.isOver(); page += 1) {
    const read = await listLinksOfNoApp(tenant, page);
    for (const { path, shortened_path } of read) found.add([path, shortened_path]);
    links.push(...read);
    if (read.length < page_links) break;
    // More than this are not looked at.
    if (page === mostPages - 1) found.leaveOut();
    await setImmediate();
  }
  let left = mostPathsLooked;
  for (const { id } of links.filter(({ has_more }) => has_more)) {
    // Where none is left, more were looked at than fit: some are left out already.
    if (found.isOver() || left === 0) break;
    const more = await listMore(tenant, id, Math.min(found.countRoom() + 1, left));
    found.add(more);
    left -= more.length;
    // Others have their turn.
    await setImmediate();
  }
  return found.read();
}

/** One more than mostly fit, which tells that there are more. */
const page_links = mostBrowserPaths + 1;
/** Paths that no pattern can tell leave room for those of later links, but not for ever. */
const mostPages = Math.ceil(mostPathsLooked / page_links);

function createCollection() {
  const paths: string[] = [];
  let areAll = true;
  const countRoom = () => mostBrowserPaths - paths.length;
  return {
    countRoom,
    isOver: () => countRoom() === 0 && !areAll,
    leaveOut: () => {
      areAll = false;
    },
    add: (given: readonly (string | null)[]) => {
      for (const text of given) {
        if (text === null || text === "") continue;
        const path = readBrowserPath(text);
        if (path !== undefined && countRoom() > 0) paths.push(path);
        else areAll = false;
      }
    },
    read: (): BrowserPaths => ({ paths, areAll }),
  };
}

type LinkOfNoApp = Pick<LinkTable, "id" | "path" | "shortened_path"> & {
  /** Whether there are short paths of its address with a query; a number, or a boolean. */
  readonly has_more: unknown;
};

/** The oldest first, by an index of just those. */
function listLinksOfNoApp(
  { db, projectId }: Tenant,
  page: number,
): Promise<readonly LinkOfNoApp[]> {
  return db
    .selectFrom("links")
    .select((links) => [
      "id",
      "path",
      "shortened_path",
      links
        .exists(
          links
            .selectFrom("short_paths")
            .select("short_paths.path")
            .whereRef("short_paths.project_id", "=", "links.project_id")
            .whereRef("short_paths.link_id", "=", "links.id"),
        )
        .as("has_more"),
    ])
    .where("project_id", "=", projectId)
    .where("ios_app_id", "is", null)
    .where("android_app_id", "is", null)
    .orderBy("created_at")
    .orderBy("id")
    .limit(page_links)
    .offset(page * page_links)
    .execute();
}

async function listMore(
  { db, projectId }: Tenant,
  linkId: string,
  most: number,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom("short_paths")
    .select("path")
    .where("project_id", "=", projectId)
    .where("link_id", "=", linkId)
    .orderBy("path")
    .limit(most)
    .execute();
  return rows.map(({ path }) => path);
}
