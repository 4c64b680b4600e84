import type { Role, Scope } from "../contract/scopes-and-roles.ts";
import { insertClientKey, insertKey } from "../store/keys.ts";
import type { Db } from "../store/tables.ts";
import {
  createClientToken,
  createIdAndTime,
  createToken,
  hashToken,
  type IdSources,
} from "./ids.ts";

/** A key as it is shown once, to the person who asked for it. */
export type IssuedKey = {
  readonly id: string;
  readonly token: string;
  readonly scopes: readonly Scope[];
  readonly role: Role;
  readonly project_id: string | null;
};

type KeyRequest = Omit<IssuedKey, "id" | "token"> & Partial<Pick<IssuedKey, "id" | "token">>;

/**
 * Makes a key; only the token's hash is kept. A token given from outside is taken as it is, and so
 * is an id: the second of two keys with one id is a Duplicate.
 */
export async function issueKey(
  db: Db,
  sources: IdSources,
  { project_id, scopes, role, token = createToken(sources.random), ...given }: KeyRequest,
): Promise<IssuedKey> {
  const { id: made, now } = createIdAndTime(sources);
  const { id = made } = given;
  const row = { id, project_id, scopes, role, token_hash: hashToken(token), created_at: now };
  await insertKey(db, row);
  return { id, token, scopes, role, project_id };
}

/** A client key as it is shown to the person who asked for it. */
export type IssuedClientKey = Pick<IssuedKey, "id" | "token"> & { readonly project_id: string };

/** The second of two keys with one id is a Duplicate. */
export async function issueClientKey(
  db: Db,
  sources: IdSources,
  { project_id, ...given }: { readonly project_id: string; readonly id?: string },
): Promise<IssuedClientKey> {
  const { id: made, now } = createIdAndTime(sources);
  const { id = made } = given;
  const token = createClientToken(sources.random);
  await insertClientKey(db, { id, project_id, token_hash: hashToken(token), created_at: now });
  return { id, token, project_id };
}
