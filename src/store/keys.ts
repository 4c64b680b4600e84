import { andThen, type Awaitable } from "../contract/awaitable.ts";
import type { ProjectPages, ProjectValues } from "../contract/rules/project-rules.ts";
import type { Role, Scope } from "../contract/scopes-and-roles.ts";
import { prepareQuery } from "./prepared-query.ts";
import { readFlags, type ProjectSettings } from "./projects.ts";
import type { Db } from "./tenant.ts";

/** API keys. The token itself is never here: only its SHA-256. */

export type Key = {
  readonly id: string;
  /** Null for a master key. */
  readonly project_id: string | null;
  readonly scopes: readonly Scope[];
  readonly role: Role;
  readonly created_at: number;
  /** To a few minutes; null where it was never used since this is noted. */
  readonly last_used_at: number | null;
};

export type NewKey = Omit<Key, "last_used_at"> & { readonly token_hash: string };

/** A key and its project, as far as the first checks of a request need them: one read for each. */
export type KeyHolder = {
  readonly key_id: string;
  readonly token_hash: string;
  readonly scopes: readonly Scope[];
  readonly role: Role;
  readonly project: HeldProject | null;
};

/** All but what visitors of the host alone are led by. */
export type HeldProject = ProjectValues &
  Omit<ProjectSettings, keyof ProjectPages> & { readonly id: string };

/** Of a key's project. */
export const heldColumns = [
  "plan",
  "suspended",
  "max_links",
  "subdomain",
  "custom_domain",
  "custom_domain_verified",
  "link_in_referrer",
  "clipboard",
  "projects.name",
  "templates_enabled",
  "destinations",
] as const;

type HolderRow = NonNullable<Awaited<ReturnType<typeof selectHolder>>>;

const selectHolder = prepareQuery((db) => selectHolders(db).where("token_hash", "=", ""));
const selectHolderById = prepareQuery((db) => selectHolders(db).where("api_keys.id", "=", ""));

function selectHolders(db: Db) {
  return db
    .selectFrom("api_keys")
    .leftJoin("projects", "projects.id", "api_keys.project_id")
    .select(["api_keys.id", "token_hash", "scopes", "role", "api_keys.project_id"])
    .select(heldColumns);
}

export function findKeyHolder(db: Db, tokenHash: string): Awaitable<KeyHolder | undefined> {
  return andThen(selectHolder(db, [tokenHash]), (row) => row && readHolder(row));
}

export function findKeyHolderById(db: Db, id: string): Awaitable<KeyHolder | undefined> {
  return andThen(selectHolderById(db, [id]), (row) => row && readHolder(row));
}

function readHolder(row: HolderRow): KeyHolder {
  const { id, token_hash, role, project_id } = row;
  const project = project_id === null ? null : readHeldProject(project_id, row);
  return { key_id: id, token_hash, scopes: readScopes(row.scopes), role, project };
}

type HeldRow = Pick<HolderRow, "plan" | "max_links" | "subdomain" | "custom_domain" | "name"> &
  Pick<HolderRow, "destinations"> &
  Parameters<typeof readFlags>[0];

/** A joined row has nulls where there is no project. */
export function readHeldProject(id: string, row: HeldRow): HeldProject {
  return {
    id,
    plan: row.plan ?? "free",
    max_links: row.max_links ?? 0,
    subdomain: row.subdomain ?? "",
    custom_domain: row.custom_domain,
    name: row.name ?? "",
    destinations: row.destinations,
    ...readFlags(row),
  };
}

export async function insertKey(db: Db, key: NewKey): Promise<void> {
  const { scopes, created_at } = key;
  await db
    .insertInto("api_keys")
    .values({
      ...key,
      scopes: JSON.stringify(scopes),
      updated_at: created_at,
      last_used_at: null,
    })
    .onConflict((conflict) => conflict.column("token_hash").doNothing())
    .execute();
}

export async function listKeys(db: Db, projectId?: string): Promise<readonly Key[]> {
  let query = db
    .selectFrom("api_keys")
    .select(["id", "project_id", "scopes", "role", "created_at", "last_used_at"])
    .orderBy("created_at")
    .orderBy("id");
  if (projectId !== undefined) query = query.where("project_id", "=", projectId);
  const rows = await query.execute();
  return rows.map((row) => ({ ...row, scopes: readScopes(row.scopes) }));
}

/** Another process may have noted a later use already. */
export async function noteKeyUses(db: Db, uses: ReadonlyMap<string, number>): Promise<void> {
  // In the order of their ids, so that two processes never wait for each other.
  for (const [id, at] of [...uses].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    await db
      .updateTable("api_keys")
      .set({ last_used_at: at })
      .where("id", "=", id)
      .where((row) => row.or([row("last_used_at", "is", null), row("last_used_at", "<", at)]))
      .execute();
  }
}

/** Revokes a key for ever; false when there is none. */
export async function deleteKey(db: Db, id: string): Promise<boolean> {
  const deleted = db.deleteFrom("api_keys").where("id", "=", id);
  return (await deleted.executeTakeFirst()).numDeletedRows === 1n;
}

/** We wrote this column ourselves, as the JSON of scopes that were checked. */
function readScopes(json: string): readonly Scope[] {
  return JSON.parse(json) as Scope[];
}
