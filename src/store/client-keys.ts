import { andThen, type Awaitable } from "../contract/awaitable.ts";
import { heldColumns, readHeldProject, type HeldProject } from "./keys.ts";
import { prepareQuery } from "./prepared-query.ts";
import type { Db, Tenant } from "./tenant.ts";

/**
 * Client keys: what an app's SDK shows. An app is in everybody's hands, and so is its key, which
 * therefore is none of the API's: it lies in a table that no other route looks into.
 */

export type ClientKey = {
  readonly id: string;
  readonly project_id: string;
  readonly created_at: number;
};

/** A client key and its project, as far as the first checks of a request need them. */
export type ClientHolder = {
  readonly key_id: string;
  readonly token_hash: string;
  readonly project: HeldProject;
};

const selectHolder = prepareQuery((db) =>
  db
    .selectFrom("client_keys")
    .innerJoin("projects", "projects.id", "client_keys.project_id")
    .select(["client_keys.id", "token_hash", "client_keys.project_id"])
    .select(heldColumns)
    .where("token_hash", "=", ""),
);

export function findClientHolder(db: Db, tokenHash: string): Awaitable<ClientHolder | undefined> {
  return andThen(selectHolder(db, [tokenHash]), (row) => {
    if (row === undefined) return undefined;
    const { id, token_hash, project_id } = row;
    return { key_id: id, token_hash, project: readHeldProject(project_id, row) };
  });
}

export async function insertClientKey(
  db: Db,
  key: ClientKey & { readonly token_hash: string },
): Promise<void> {
  await db.insertInto("client_keys").values(key).execute();
}

export function listClientKeys(db: Db, projectId?: string): Promise<readonly ClientKey[]> {
  const query = db
    .selectFrom("client_keys")
    .select(["id", "project_id", "created_at"])
    .orderBy("created_at")
    .orderBy("id");
  return (projectId === undefined ? query : query.where("project_id", "=", projectId)).execute();
}

/** Revokes a key for ever; false when the project has none of that id. */
export async function deleteClientKey({ db, projectId }: Tenant, id: string): Promise<boolean> {
  const ofProject = db.deleteFrom("client_keys").where("project_id", "=", projectId);
  return (await ofProject.where("id", "=", id).executeTakeFirst()).numDeletedRows === 1n;
}
