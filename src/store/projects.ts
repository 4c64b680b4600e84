import { sql, type NotNull, type SqlBool } from "kysely";
import type { ListQuery } from "../contract/filters.ts";
import type { Project } from "../contract/projects.ts";
import type { ProjectPages, ProjectValues } from "../contract/rules/project-rules.ts";
import { describeTime } from "./filters.ts";
import { countRows, readPage, type Page } from "./list-page.ts";
import { readTally } from "./project-tallies.ts";
import { queueChore } from "./queue-chore.ts";
import { toFlag, type Flag, type ProjectFlag, type ProjectTable } from "./tables.ts";
import type { Db } from "./tenant.ts";

/** What the operator sets and the API does not show (design.md, `waypost projects`). */
export type ProjectSettings = Pick<ProjectTable, "plan" | "max_links" | "destinations"> &
  ProjectPages &
  Readonly<Record<ProjectFlag, boolean>>;

export type StoredProject = Project & ProjectSettings;

export type ProjectChanges = Partial<ProjectValues & ProjectSettings>;

type ProjectRow = ProjectTable & { readonly links_count: number };

export function findProject(db: Db, id: string): Promise<StoredProject | undefined> {
  return findOne(db, "id", id);
}

export function findProjectNamed(
  db: Db,
  field: "subdomain" | "custom_domain",
  value: string,
): Promise<StoredProject | undefined> {
  return findOne(db, field, value);
}

/** Its tally is found by its id alone: who knows a project by name knows not where its rows are. */
async function findOne(
  db: Db,
  field: "id" | "subdomain" | "custom_domain",
  value: string,
): Promise<StoredProject | undefined> {
  const found = db.selectFrom("projects").selectAll().where(field, "=", value);
  const row = await found.executeTakeFirst();
  if (row === undefined) return undefined;
  const { links } = await readTally({ db, projectId: row.id });
  return toProject({ ...row, links_count: links });
}

export async function countProjects(db: Db): Promise<number> {
  const { fn } = db;
  const row = await db
    .selectFrom("projects")
    .select(fn.countAll<number | string>().as("count"))
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

/** The first by name of the hosts that projects are served at beside our own; undefined without. */
export async function findVerifiedDomain(db: Db): Promise<string | undefined> {
  const row = await db
    .selectFrom("projects")
    .select("custom_domain")
    .where("custom_domain_verified", "=", 1)
    .orderBy("custom_domain")
    .limit(1)
    .executeTakeFirst();
  return row?.custom_domain ?? undefined;
}

/** Bounds the DNS lookups of one doctor run. */
const mostDomains = 50;

/** The projects with a domain of their own, verified or not, by its name. */
export async function listCustomDomains(db: Db) {
  return db
    .selectFrom("projects")
    .select(["id", "subdomain", "custom_domain", "custom_domain_verified"])
    .where("custom_domain", "is not", null)
    .$narrowType<{ custom_domain: NotNull }>()
    .orderBy("custom_domain")
    .limit(mostDomains)
    .execute();
}

export async function listProjects(db: Db, query: ListQuery): Promise<Page<StoredProject>> {
  const columns = { created_at: describeTime(db, "created_at") };
  const source = { table: "projects", columns, ownRows: sql<SqlBool>`1 = 1` };
  const count = await countRows(db, source, query);
  const { items, meta } = await readPage<ProjectTable>(db, source, query, count);
  const tallies = await db
    .selectFrom("tallies")
    .select(["project_id", "links"])
    .where("project_id", "in", ["", ...items.map(({ id }) => id)])
    .execute();
  const links = new Map(tallies.map((tally) => [tally.project_id, tally.links]));
  const toItem = (row: ProjectTable) => toProject({ ...row, links_count: links.get(row.id) ?? 0 });
  return { items: items.map(toItem), meta };
}

export async function insertProject(
  db: Db,
  id: string,
  project: ProjectValues & ProjectSettings,
  now: number,
): Promise<StoredProject> {
  const { name, subdomain, custom_domain, plan, max_links, destinations } = project;
  const { home_url, not_found_url } = project;
  const plain = { id, name, subdomain, custom_domain, plan, max_links, destinations };
  const row: ProjectTable = {
    ...plain,
    home_url,
    not_found_url,
    custom_domain_verified: toFlag(project.custom_domain_verified),
    templates_enabled: toFlag(project.templates_enabled),
    link_in_referrer: toFlag(project.link_in_referrer),
    clipboard: toFlag(project.clipboard),
    suspended: toFlag(project.suspended),
    created_at: now,
    updated_at: now,
  };
  await db.insertInto("projects").values(row).execute();
  const counts = { links: 0, generation: 0, clicked: 0, webhooks: 0 };
  const tally = { project_id: id, indexed_to: null, ...counts };
  await db.insertInto("tallies").values(tally).execute();
  return toProject({ ...row, links_count: 0 });
}

export async function updateProject(
  db: Db,
  id: string,
  changes: ProjectChanges,
  now: number,
): Promise<void> {
  const columns = Object.entries(changes).map(
    ([field, value]) => [field, typeof value === "boolean" ? toFlag(value) : value] as const,
  );
  const row = { ...Object.fromEntries(columns), updated_at: now };
  await db.updateTable("projects").set(row).where("id", "=", id).execute();
}

/** Ends a project at once: its keys and its name are gone, its rows follow as a chore. */
export async function deleteProject(db: Db, id: string): Promise<boolean> {
  const deleted = db.deleteFrom("projects").where("id", "=", id);
  if ((await deleted.executeTakeFirst()).numDeletedRows === 0n) return false;
  await db.deleteFrom("api_keys").where("project_id", "=", id).execute();
  await db.deleteFrom("client_keys").where("project_id", "=", id).execute();
  // Without its tally no write that is already on its way finds the project.
  await db.deleteFrom("tallies").where("project_id", "=", id).execute();
  // What else was to be done for it would find it gone.
  await db.deleteFrom("chores").where("project_id", "=", id).execute();
  await queueChore(db, { kind: "purge_project", project_id: id, subject: "" });
  return true;
}

function toProject(row: ProjectRow): StoredProject {
  const { id, name, subdomain, custom_domain, links_count } = row;
  const { plan, max_links, destinations, home_url, not_found_url } = row;
  const plain = { id, name, subdomain, custom_domain, links_count, plan, max_links, destinations };
  return { ...plain, home_url, not_found_url, ...readFlags(row) };
}

/** A null counts as no: a key without a project has nulls here. */
export function readFlags(
  row: Readonly<Record<ProjectFlag, Flag | null>>,
): Readonly<Record<ProjectFlag, boolean>> {
  return {
    custom_domain_verified: row.custom_domain_verified === 1,
    templates_enabled: row.templates_enabled === 1,
    link_in_referrer: row.link_in_referrer === 1,
    clipboard: row.clipboard === 1,
    suspended: row.suspended === 1,
  };
}
