import type { LinkTable } from "./tables.ts";
import type { Tenant } from "./tenant.ts";

/** The oldest links that name no app, by an index of just those. */
export async function listLinksOfNoApp(
  { db, projectId }: Tenant,
  most: number,
): Promise<readonly Pick<LinkTable, "path" | "shortened_path">[]> {
  return db
    .selectFrom("links")
    .select(["path", "shortened_path"])
    .where("project_id", "=", projectId)
    .where("ios_app_id", "is", null)
    .where("android_app_id", "is", null)
    .orderBy("created_at")
    .orderBy("id")
    .limit(most)
    .execute();
}
