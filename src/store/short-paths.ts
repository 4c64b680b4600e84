import { sql, type SqlBool } from "kysely";
import type { Tenant } from "./tables.ts";

/** Stores further short paths of links, for links with a query or with another prefix. */

type ShortPath = { readonly linkId: string; readonly path: string; readonly query: string };

/** Returns the link's oldest short path with this query and prefix. */
export async function findShortPath(
  tenant: Tenant,
  { linkId, query, prefix }: Omit<ShortPath, "path"> & { readonly prefix: string },
): Promise<string | undefined> {
  const { length } = Array.from(prefix);
  const found = selectOf(tenant, linkId)
    .select("path")
    .where("query", "=", query)
    .where(sql<SqlBool>`substr(path, 1, ${sql.lit(length)}) = ${prefix}`)
    .orderBy("place");
  return (await found.limit(1).executeTakeFirst())?.path;
}

/** Returns the query that a short path adds to the visit; empty for other paths. */
export async function findQueryOf(
  tenant: Tenant,
  { linkId, path }: Omit<ShortPath, "query">,
): Promise<string> {
  const found = selectOf(tenant, linkId).select("query").where("path", "=", path);
  return (await found.executeTakeFirst())?.query ?? "";
}

/** Stores a short path. The caller must have claimed this path. */
export async function insertShortPath(
  tenant: Tenant,
  { linkId, path, query }: ShortPath,
): Promise<void> {
  const { db, projectId } = tenant;
  const last = await selectOf(tenant, linkId)
    .select((row) => row.fn.max("place").as("place"))
    .where("query", "=", query)
    .executeTakeFirst();
  const place = (last?.place ?? -1) + 1;
  const row = { project_id: projectId, path, link_id: linkId, query, place };
  await db.insertInto("short_paths").values(row).execute();
}

/** Deletes the short paths of permanently deleted links. */
export async function dropShortPaths(
  { db, projectId }: Tenant,
  linkIds: readonly string[],
): Promise<void> {
  if (linkIds.length === 0) return;
  await db
    .deleteFrom("short_paths")
    .where("project_id", "=", projectId)
    .where("link_id", "in", linkIds)
    .execute();
}

function selectOf({ db, projectId }: Tenant, linkId: string) {
  return db
    .selectFrom("short_paths")
    .where("project_id", "=", projectId)
    .where("link_id", "=", linkId);
}
