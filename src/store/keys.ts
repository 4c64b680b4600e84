import { andThen, type Awaitable } from "../contract/waiting.ts";
import type { Role, Scope } from "../contract/rights.ts";
import type { Sql } from "../sql/sql.ts";
import { prepareQuery } from "./prepared-query.ts";
import { toProject, type ProjectRecord } from "./projects.ts";
import type { Db, ProjectTable, RequestCountTable, Tables, Tenant } from "./tables.ts";

/**
 * Stores API keys, and the client keys that SDKs in apps send. Anyone who has an app can read its
 * client key. So client keys have their own table, and can never be used as API keys. Only the
 * SHA-256 hash of a token is stored.
 */

export type Key = {
  readonly id: string;
  /** Null for a master key. */
  readonly project_id: string | null;
  readonly scopes: readonly Scope[];
  readonly role: Role;
  readonly created_at: number;
  /** The last use, accurate to a few minutes; null for an unused key. */
  readonly last_used_at: number | null;
};

export type NewKey = Omit<Key, "last_used_at"> & { readonly token_hash: string };

export type KeyWithProject = {
  readonly key_id: string;
  readonly token_hash: string;
  readonly scopes: readonly Scope[];
  readonly role: Role;
  readonly project: ProjectRecord | null;
};

const selectKey = prepareQuery((db) => selectKeys(db).where("token_hash", "=", ""));
const selectKeyById = prepareQuery((db) => selectKeys(db).where("api_keys.id", "=", ""));

function selectKeys(db: Db) {
  return db
    .selectFrom("api_keys")
    .leftJoin("projects", "projects.id", "api_keys.project_id")
    .selectAll("projects")
    .select(["api_keys.id as key_id", "token_hash", "scopes", "role"]);
}

export function findKey(db: Db, tokenHash: string): Awaitable<KeyWithProject | undefined> {
  return andThen(selectKey(db, [tokenHash]), readKey);
}

export function findKeyById(db: Db, id: string): Awaitable<KeyWithProject | undefined> {
  return andThen(selectKeyById(db, [id]), readKey);
}

function readKey(row: Awaited<ReturnType<typeof selectKey>>): KeyWithProject | undefined {
  if (row === undefined) return undefined;
  const { key_id, token_hash, scopes, role, ...joined } = row;
  // If the joined id is present, so are all other columns of the project.
  const project = joined.id === null ? null : toProject(joined as ProjectTable);
  return { key_id, token_hash, scopes: readScopes(scopes), role, project };
}

export async function insertKey(db: Db, key: NewKey): Promise<void> {
  const row = { ...key, scopes: JSON.stringify(key.scopes), updated_at: key.created_at };
  const insert = db.insertInto("api_keys").values(row);
  await insert.onConflict((conflict) => conflict.column("token_hash").doNothing()).execute();
}

export async function listKeys(db: Db, projectId?: string): Promise<readonly Key[]> {
  const keys = db
    .selectFrom("api_keys")
    .select(["id", "project_id", "scopes", "role", "created_at", "last_used_at"])
    .orderBy("created_at")
    .orderBy("id")
    .$if(projectId !== undefined, (all) => all.where("project_id", "=", projectId ?? ""));
  const rows = await keys.execute();
  return rows.map((row) => ({ ...row, scopes: readScopes(row.scopes) }));
}

/** Records when keys were used, unless another process has recorded a later time. */
export async function noteKeyUses(db: Db, uses: ReadonlyMap<string, number>): Promise<void> {
  // Sorted by id, so that two processes cannot deadlock.
  for (const [id, at] of [...uses].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    await db
      .updateTable("api_keys")
      .set({ last_used_at: at })
      .where("id", "=", id)
      .where((row) => row.or([row("last_used_at", "is", null), row("last_used_at", "<", at)]))
      .execute();
  }
}

/** Revokes a key permanently. Returns false for an unknown key. */
export async function deleteKey(db: Db, id: string): Promise<boolean> {
  const deleted = db.deleteFrom("api_keys").where("id", "=", id);
  return (await deleted.executeTakeFirst()).numDeletedRows === 1n;
}

function readScopes(json: string): readonly Scope[] {
  return JSON.parse(json) as Scope[];
}

export type ClientKey = Omit<Tables["client_keys"], "token_hash">;

export type ClientKeyWithProject = Pick<KeyWithProject, "key_id" | "token_hash"> & {
  readonly project: ProjectRecord;
};

const selectClientKey = prepareQuery((db) =>
  db
    .selectFrom("client_keys")
    .innerJoin("projects", "projects.id", "client_keys.project_id")
    .selectAll("projects")
    .select(["client_keys.id as key_id", "token_hash"])
    .where("token_hash", "=", ""),
);

export function findClientKey(
  db: Db,
  tokenHash: string,
): Awaitable<ClientKeyWithProject | undefined> {
  return andThen(selectClientKey(db, [tokenHash]), (row) => {
    if (row === undefined) return undefined;
    const { key_id, token_hash, ...project } = row;
    return { key_id, token_hash, project: toProject(project) };
  });
}

export async function insertClientKey(db: Db, key: Tables["client_keys"]): Promise<void> {
  await db.insertInto("client_keys").values(key).execute();
}

export function listClientKeys(db: Db, projectId?: string): Promise<readonly ClientKey[]> {
  return db
    .selectFrom("client_keys")
    .select(["id", "project_id", "created_at"])
    .orderBy("created_at")
    .orderBy("id")
    .$if(projectId !== undefined, (all) => all.where("project_id", "=", projectId ?? ""))
    .execute();
}

/** Revokes a client key permanently. Returns false if the project has no such key. */
export async function deleteClientKey({ db, projectId }: Tenant, id: string): Promise<boolean> {
  const ofProject = db.deleteFrom("client_keys").where("project_id", "=", projectId);
  return (await ofProject.where("id", "=", id).executeTakeFirst()).numDeletedRows === 1n;
}

/** Stores this process's request counts, in rows that no other process writes. */
export async function writeCounts(
  { write }: Pick<Sql<Tables>, "write">,
  counts: readonly RequestCountTable[],
): Promise<void> {
  const insert = (db: Db) =>
    db
      .insertInto("request_counts")
      .values(counts)
      .onConflict((conflict) =>
        conflict.columns(["name", "process"]).doUpdateSet((row) => ({
          spent: row.ref("excluded.spent"),
          ends_at: row.ref("excluded.ends_at"),
        })),
      )
      .execute();
  await write(insert);
}

/** Reads the other processes' counts for windows that have not ended. */
export function readOtherCounts(
  db: Db,
  names: readonly string[],
  { process, now }: { readonly process: string; readonly now: number },
): Promise<readonly RequestCountTable[]> {
  const others = db.selectFrom("request_counts").selectAll().where("name", "in", names);
  return others.where("process", "<>", process).where("ends_at", ">", now).execute();
}

/** Deletes counts whose window has ended, or ends after `latest` because a clock was set back. */
export async function dropEndedCounts(
  { write }: Pick<Sql<Tables>, "write">,
  now: number,
  latest: number,
): Promise<void> {
  const drop = (db: Db) =>
    db
      .deleteFrom("request_counts")
      .where((row) => row.or([row("ends_at", "<=", now), row("ends_at", ">", latest)]))
      .execute();
  await write(drop, { isPatient: true });
}
