import { limits } from "../contract/limits.ts";
import type {
  PageTemplate,
  TemplateVersion,
  WholeTemplateVersion,
} from "../contract/page-template.ts";
import { tallyWrite } from "./projects.ts";
import type { Tables, Tenant } from "./tables.ts";

/** Stores a project's page template: the draft and its published versions. */

/** The API returns who published a version. This server always returns the owner. */
const publisher = "owner";

export type TemplateTexts = { readonly body: string; readonly css: string };

export async function findTemplate(tenant: Tenant): Promise<PageTemplate | undefined> {
  const row = await findRow(tenant);
  if (row === undefined) return undefined;
  const { live_id } = row;
  const live = live_id === null ? undefined : await readVersion(tenant, live_id, live_id);
  const isSame = live !== undefined && live.body === row.body && live.css === row.css;
  return {
    id: row.id,
    body: row.body,
    css: row.css,
    unpublished_changes: !isSame,
    live_version: live ?? null,
    created_at: showTime(row.created_at),
    updated_at: showTime(row.updated_at),
  };
}

/** Returns the published template, or undefined if the project uses the default page. */
export async function findLiveTemplate({
  db,
  projectId,
}: Tenant): Promise<(TemplateTexts & { readonly id: string }) | undefined> {
  return db
    .selectFrom("page_templates")
    .innerJoin("page_template_versions as versions", (join) =>
      join
        .onRef("versions.project_id", "=", "page_templates.project_id")
        .onRef("versions.id", "=", "page_templates.live_id"),
    )
    .select(["versions.id", "versions.body", "versions.css"])
    .where("page_templates.project_id", "=", projectId)
    .executeTakeFirst();
}

export async function listVersions(tenant: Tenant): Promise<readonly TemplateVersion[]> {
  const template = await findRow(tenant);
  const rows = await tenant.db
    .selectFrom("page_template_versions")
    .select(["id", "published_at"])
    .where("project_id", "=", tenant.projectId)
    .orderBy("number", "desc")
    .execute();
  return rows.map((row) => showVersion(row, template?.live_id));
}

function showVersion(
  { id, published_at }: Pick<Tables["page_template_versions"], "id" | "published_at">,
  liveId: string | null | undefined,
): TemplateVersion {
  const published = { published_at: showTime(published_at), published_by: publisher };
  return { id, ...published, live: id === liveId };
}

export async function findVersion(
  tenant: Tenant,
  id: string,
): Promise<WholeTemplateVersion | undefined> {
  const template = await findRow(tenant);
  return readVersion(tenant, id, template?.live_id);
}

async function readVersion(
  { db, projectId }: Tenant,
  id: string,
  liveId: string | null | undefined,
): Promise<WholeTemplateVersion | undefined> {
  const row = await db
    .selectFrom("page_template_versions")
    .select(["id", "published_at", "body", "css"])
    .where((version) => version.and({ project_id: projectId, id }))
    .executeTakeFirst();
  return row && { ...showVersion(row, liveId), body: row.body, css: row.css };
}

/** Saves the draft. If the project has no template, creates one with this id. */
export async function saveDraft(
  tenant: Tenant,
  { id, now }: { readonly id: string; readonly now: number },
  { body, css }: TemplateTexts,
): Promise<void> {
  await tallyWrite(tenant, 0);
  const { db, projectId } = tenant;
  const dates = { created_at: now, updated_at: now };
  await db
    .insertInto("page_templates")
    .values({ project_id: projectId, id, body, css, live_id: null, ...dates })
    .onConflict((conflict) =>
      conflict.column("project_id").doUpdateSet({ body, css, updated_at: now }),
    )
    .execute();
}

/** Publishes the draft, and deletes versions beyond the limit, oldest first. */
export async function publishDraft(
  tenant: Tenant,
  { id, now }: { readonly id: string; readonly now: number },
  { body, css }: TemplateTexts,
): Promise<void> {
  const { db, projectId } = tenant;
  const versions = db.selectFrom("page_template_versions").where("project_id", "=", projectId);
  const last = await versions.select(({ fn }) => fn.max("number").as("number")).executeTakeFirst();
  const number = (last?.number ?? 0) + 1;
  await db
    .insertInto("page_template_versions")
    .values({ project_id: projectId, id, number, body, css, published_at: now })
    .execute();
  await setLive(tenant, id, now);
  // Version numbers have no gaps. The newest version is live, so the live version is never deleted.
  const old = db.deleteFrom("page_template_versions").where("project_id", "=", projectId);
  await old.where("number", "<=", number - limits.kept_template_versions).execute();
}

/** Sets the version that visitors see. Null means the default page. */
export async function setLive(tenant: Tenant, id: string | null, now: number): Promise<void> {
  await tallyWrite(tenant, 0);
  await tenant.db
    .updateTable("page_templates")
    .set({ live_id: id, updated_at: now })
    .where("project_id", "=", tenant.projectId)
    .execute();
}

function findRow({ db, projectId }: Tenant) {
  const templates = db.selectFrom("page_templates").selectAll();
  return templates.where("project_id", "=", projectId).executeTakeFirst();
}

function showTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
