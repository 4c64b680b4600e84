import { andThen, type Awaitable } from "../contract/awaitable.ts";
import type { Role, Scope } from "../contract/scopes-and-roles.ts";
import type { Sql } from "../sql/sql.ts";
import { prepareQuery } from "./prepared-query.ts";
import { toProject, type ProjectRecord } from "./projects.ts";
import type { Db, ProjectTable, RequestCountTable, Tables, Tenant } from "./tables.ts";

/**
 * API keys, and the client keys that an app's SDK sends. An app is in everybody's hands, and so is
 * its client key: no API key is looked up in its table. Of both, only the SHA-256 of the token is
 * here.
 */

export type Key = {
  readonly id: string;
  /** Null for a master key. */
  readonly project_id: string | null;
  readonly scopes: readonly Scope[];
  readonly role: Role;
  readonly created_at: number;
  /** To a few minutes; null for a key that was never used. */
  readonly last_used_at: number | null;
};

export type NewKey = Omit<Key, "last_used_at"> & { readonly token_hash: string };

/** A key and its project, as far as the first checks of a request need them. */
export type KeyHolder = {
  readonly key_id: string;
  readonly token_hash: string;
  readonly scopes: readonly Scope[];
  readonly role: Role;
  readonly project: ProjectRecord | null;
};

const selectHolder = prepareQuery((db) => selectHolders(db).where("token_hash", "=", ""));
const selectHolderById = prepareQuery((db) => selectHolders(db).where("api_keys.id", "=", ""));

function selectHolders(db: Db) {
  return db
    .selectFrom("api_keys")
    .leftJoin("projects", "projects.id", "api_keys.project_id")
    .selectAll("projects")
    .select(["api_keys.id as key_id", "token_hash", "scopes", "role"]);
}

export function findKeyHolder(db: Db, tokenHash: string): Awaitable<KeyHolder | undefined> {
  return andThen(selectHolder(db, [tokenHash]), readHolder);
}

export function findKeyHolderById(db: Db, id: string): Awaitable<KeyHolder | undefined> {
  return andThen(selectHolderById(db, [id]), readHolder);
}

function readHolder(row: Awaited<ReturnType<typeof selectHolder>>): KeyHolder | undefined {
  if (row === undefined) return undefined;
  const { key_id, token_hash, scopes, role, ...joined } = row;
  // With an id, the joined columns are those of a whole project.
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

/** Revokes a key permanently; false if the key does not exist. */
export async function deleteKey(db: Db, id: string): Promise<boolean> {
  const deleted = db.deleteFrom("api_keys").where("id", "=", id);
  return (await deleted.executeTakeFirst()).numDeletedRows === 1n;
}

/** We wrote this column ourselves, as the JSON of scopes that were checked. */
function readScopes(json: string): readonly Scope[] {
  return JSON.parse(json) as Scope[];
}

export type ClientKey = Omit<Tables["client_keys"], "token_hash">;

export type ClientHolder = Pick<KeyHolder, "key_id" | "token_hash"> & {
  readonly project: ProjectRecord;
};

const selectClientHolder = prepareQuery((db) =>
  db
    .selectFrom("client_keys")
    .innerJoin("projects", "projects.id", "client_keys.project_id")
    .selectAll("projects")
    .select(["client_keys.id as key_id", "token_hash"])
    .where("token_hash", "=", ""),
);

export function findClientHolder(db: Db, tokenHash: string): Awaitable<ClientHolder | undefined> {
  return andThen(selectClientHolder(db, [tokenHash]), (row) => {
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

/** Revokes a key permanently; false when the project has none of that id. */
export async function deleteClientKey({ db, projectId }: Tenant, id: string): Promise<boolean> {
  const ofProject = db.deleteFrom("client_keys").where("project_id", "=", projectId);
  return (await ofProject.where("id", "=", id).executeTakeFirst()).numDeletedRows === 1n;
}

/**
 * What requests have spent of the budgets that all processes share. Each process has rows of its
 * own, so that no two of them ever write the same row.
 */
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

/** What others have counted in windows that end after this time. */
export function readOtherCounts(
  db: Db,
  names: readonly string[],
  { process, now }: { readonly process: string; readonly now: number },
): Promise<readonly RequestCountTable[]> {
  const others = db.selectFrom("request_counts").selectAll().where("name", "in", names);
  return others.where("process", "<>", process).where("ends_at", ">", now).execute();
}

/** A row that ends after `latest` was written before the clock was set back. */
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
