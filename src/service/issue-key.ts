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

/** A new key with its token, which is shown only once. */
export type IssuedKey = {
  readonly id: string;
  readonly token: string;
  readonly scopes: readonly Scope[];
  readonly role: Role;
  readonly project_id: string | null;
};

type NewKeyRequest = Omit<IssuedKey, "id" | "token"> & Partial<Pick<IssuedKey, "id" | "token">>;

/**
 * Creates a key and stores the hash of its token. Callers may pass the token and the id. A second
 * key with the same id throws Duplicate.
 */
export async function issueKey(
  db: Db,
  sources: IdSources,
  { project_id, scopes, role, token = createToken(sources.random), ...given }: NewKeyRequest,
): Promise<IssuedKey> {
  const { id: made, now } = createIdAndTime(sources);
  const { id = made } = given;
  const row = { id, project_id, scopes, role, token_hash: hashToken(token), created_at: now };
  await insertKey(db, row);
  return { id, token, scopes, role, project_id };
}

/** A new client key with its token. */
export type IssuedClientKey = Pick<IssuedKey, "id" | "token"> & { readonly project_id: string };

/** Creates a client key. A second key with the same id throws Duplicate. */
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
