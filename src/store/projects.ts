import { sql, type NotNull, type SqlBool } from "kysely";
import type { ListQuery } from "../contract/filters.ts";
import type { Project } from "../contract/projects.ts";
import type { ProjectPages, ProjectValues } from "../contract/rules/project-rules.ts";
import { queueTask } from "./background-tasks.ts";
import { countRows, describeTime, readPage, type ListPage } from "./lists.ts";
import { prepareQuery, prepareRows } from "./prepared-query.ts";
import {
  tableList,
  toFlag,
  type Db,
  type ProjectFlag,
  type ProjectTable,
  type Tables,
  type Tenant,
} from "./tables.ts";
import { createIndex, dropIndex } from "./trigram-index.ts";

/** Stores projects, with their settings and counts, and finds the project of a host name. */

/** Settings that only the operator can see and change, with `waypost projects`. */
export type ProjectSettings = Pick<ProjectTable, "plan" | "max_links" | "destinations"> &
  ProjectPages &
  Readonly<Record<ProjectFlag, boolean>>;

/** The properties of a project that API requests and visits need. */
export type ProjectRecord = ProjectValues & ProjectSettings & { readonly id: string };

export type StoredProject = Project & ProjectRecord;

export type ProjectChanges = Partial<ProjectValues & ProjectSettings>;

export function findProject(db: Db, id: string): Promise<StoredProject | undefined> {
  return findProjectNamed(db, "id", id);
}

export async function findProjectNamed(
  db: Db,
  field: "id" | "subdomain" | "custom_domain",
  value: string,
): Promise<StoredProject | undefined> {
  const found = db.selectFrom("projects").selectAll().where(field, "=", value);
  const row = await found.executeTakeFirst();
  return row && withCount(db, row);
}

/** Adds the number of links, which is stored in another table. */
async function withCount(db: Db, row: ProjectTable): Promise<StoredProject> {
  const { links } = await readTally({ db, projectId: row.id });
  return { ...toProject(row), links_count: links };
}

export async function countProjects(db: Db): Promise<number> {
  const count = db.selectFrom("projects").select(({ fn }) => fn.countAll<number>().as("count"));
  return (await count.executeTakeFirstOrThrow()).count;
}

/** The maximum number of listed domains. `waypost doctor` makes DNS lookups for each of them. */
const mostDomains = 50;

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

export async function listProjects(db: Db, query: ListQuery): Promise<ListPage<StoredProject>> {
  const columns = { created_at: describeTime(db, "created_at") };
  const source = { table: "projects", columns, ownRows: sql<SqlBool>`1 = 1` };
  const count = await countRows(db, source, query);
  const { items, meta } = await readPage<ProjectTable>(db, source, query, count);
  return { items: await Promise.all(items.map((row) => withCount(db, row))), meta };
}

export async function insertProject(
  db: Db,
  id: string,
  fields: ProjectValues & ProjectSettings,
  now: number,
): Promise<StoredProject> {
  // The cast is safe, because the caller passes the values of all columns.
  const columns = toColumns(fields) as Omit<ProjectTable, "id" | "created_at" | "updated_at">;
  const row = { ...columns, id, created_at: now, updated_at: now };
  await db.insertInto("projects").values(row).execute();
  const counts = { links: 0, generation: 0, clicked: 0, webhooks: 0 };
  await db
    .insertInto("tallies")
    .values({ project_id: id, ...counts })
    .execute();
  return { ...toProject(row), links_count: 0 };
}

export async function updateProject(
  db: Db,
  id: string,
  changes: ProjectChanges,
  now: number,
): Promise<void> {
  const row = { ...toColumns(changes), updated_at: now };
  await db.updateTable("projects").set(row).where("id", "=", id).execute();
}

/** Deletes a project. Its keys and hosts stop working at once. A task deletes its data later. */
export async function deleteProject(db: Db, id: string): Promise<boolean> {
  const deleted = db.deleteFrom("projects").where("id", "=", id);
  if ((await deleted.executeTakeFirst()).numDeletedRows === 0n) return false;
  // Once the row in `tallies` is deleted, writes that are already running fail with ProjectGone.
  // The project's queued tasks are no longer needed.
  for (const table of ["api_keys", "client_keys", "tallies", "chores"] as const) {
    await db.deleteFrom(table).where("project_id", "=", id).execute();
  }
  await queueTask(db, { kind: "purge_project", project_id: id, subject: "" });
  return true;
}

const purgedRows = 1000;

/** Deletes a batch of a deleted project's rows. Returns true if this was the last batch. */
export async function purgeBatch({ db, projectId }: Tenant): Promise<boolean> {
  for (const { name, columns, key } of tableList) {
    // The caller deletes this task from `chores` after the last batch.
    if (!("project_id" in columns) || name === "chores") continue;
    const ownKey = key.length === 1 ? key : key.filter((column) => column !== "project_id");
    const [table, keys] = [sql.table(name), sql.raw(ownKey.join(", "))];
    const { rows } = await sql<Readonly<Record<string, unknown>>>`
      select ${keys} from ${table} where project_id = ${projectId}
      order by ${keys} limit 1 offset ${purgedRows - 1}
    `.execute(db);
    const [last] = rows;
    // By the key of the batch's last row, because a subquery could run again for each row.
    const isInBatch = last && sql`and (${keys}) <= (${sql.join(Object.values(last))})`;
    const purge = sql`delete from ${table} where project_id = ${projectId} ${isInBatch ?? sql``}`;
    const { numAffectedRows = 0n } = await purge.execute(db);
    // Rows that another process adds meanwhile are deleted in a later batch.
    if (numAffectedRows > 0n) return false;
  }
  await dropIndex(db, projectId);
  return true;
}

/** Returns the oldest project's subdomain. Links without a subdomain belong to this project. */
export async function findOldestSubdomain(db: Db): Promise<string | undefined> {
  const projects = db
    .selectFrom("projects")
    .select("subdomain")
    .orderBy("created_at")
    .orderBy("id");
  return (await projects.limit(1).executeTakeFirst())?.subdomain;
}

/** A project. `generation` increases with every write to its links, apps or templates. */
export type SiteProject = ProjectRecord & { readonly generation: number };

const selectNamed = prepareRows((db) =>
  db
    .selectFrom("projects")
    .selectAll()
    .where((row) => row.or([row("custom_domain", "=", ""), row("subdomain", "=", "")])),
);

const selectGeneration = prepareQuery((db) =>
  db.selectFrom("tallies").select("generation").where("project_id", "=", ""),
);

/** Finds the project with this verified custom domain, or else with this subdomain. */
export async function findSite(
  db: Db,
  { hostname, subdomain }: { readonly hostname: string; readonly subdomain: string | undefined },
) {
  // An empty subdomain matches no project.
  const rows = await selectNamed(db, [hostname, subdomain ?? ""]);
  const own = rows.find(
    (row) => row.custom_domain === hostname && row.custom_domain_verified === 1,
  );
  const row = own ?? rows.find((each) => each.subdomain === subdomain);
  const tally = row && (await selectGeneration(db, [row.id]));
  // A project without a row in `tallies` is being deleted.
  if (row === undefined || tally === undefined) return undefined;
  const project: SiteProject = { ...toProject(row), generation: tally.generation };
  return { project, by: own === undefined ? "subdomain" : "custom_domain" } as const;
}

export function toProject({
  created_at: _created,
  updated_at: _updated,
  ...row
}: ProjectTable): ProjectRecord {
  return {
    ...row,
    custom_domain_verified: row.custom_domain_verified === 1,
    templates_enabled: row.templates_enabled === 1,
    link_in_referrer: row.link_in_referrer === 1,
    clipboard: row.clipboard === 1,
    suspended: row.suspended === 1,
  };
}

function toColumns(fields: ProjectChanges): Partial<ProjectTable> {
  const cells = Object.entries(fields).map(
    ([field, value]) => [field, typeof value === "boolean" ? toFlag(value) : value] as const,
  );
  // Columns and fields have the same names and types, except for flags.
  return Object.fromEntries(cells);
}

/** From this number of links, `cont` filters need an index to be fast. */
export const indexFrom = 20_000;

/** Thrown by writes if the project was deleted after the request was authorized. */
export class ProjectGone extends Error {
  override readonly name = "ProjectGone";
}

const none = { links: 0, generation: 0, indexed_to: null, clicked: 0, webhooks: 0 } as const;

export type Tally = Omit<Tables["tallies"], "project_id">;

export async function readTally(tenant: Tenant): Promise<Tally> {
  return (await findTally(tenant)) ?? none;
}

/** Returns the project's row of `tallies`, or undefined for a deleted project. */
export async function findTally({ db, projectId }: Tenant): Promise<Tally | undefined> {
  return selectTally(db, [projectId]);
}

const selectTally = prepareQuery((db) =>
  db
    .selectFrom("tallies")
    .select(["links", "generation", "indexed_to", "clicked", "webhooks"])
    .where("project_id", "=", ""),
);

/** Counts a write, in its transaction. This invalidates cached counts in all processes. */
export async function tallyWrite(tenant: Tenant, added: -1 | 0 | 1): Promise<Tally> {
  const tally = await countWrite(tenant.db, [added, tenant.projectId]);
  if (tally === undefined) throw new ProjectGone("the project was deleted");
  const isDue = tally.links >= indexFrom && tally.indexed_to === null;
  if (isDue) await createIndex(tenant);
  return tally;
}

const countWrite = prepareQuery(() => {
  return sql<Tally>`
    update tallies set links = links + ${0}, generation = generation + 1
    where project_id = ${""}
    returning links, generation, indexed_to, clicked, webhooks
  `;
});
