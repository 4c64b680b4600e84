import type { Role, Scope } from "../contract/policy.ts";
import { insertKey } from "../store/keys.ts";
import type { Db } from "../store/tenant.ts";
import { stamp, type Services } from "./handler.ts";
import { createToken, hashToken } from "./ids.ts";

/** A key as it is shown once, to the person who asked for it. */
export type IssuedKey = {
  readonly id: string;
  readonly token: string;
  readonly scopes: readonly Scope[];
  readonly role: Role;
  readonly project_id: string | null;
};

type Wanted = Omit<IssuedKey, "id" | "token"> & { readonly token?: string };

/** Makes a key; only the token's hash is kept. A token given from outside is taken as it is. */
export async function issueKey(
  db: Db,
  maker: Pick<Services, "clock" | "random">,
  { project_id, scopes, role, token = createToken(maker.random) }: Wanted,
): Promise<IssuedKey> {
  const { id, now } = stamp(maker);
  const token_hash = hashToken(token);
  await insertKey(db, { id, project_id, scopes, role, token_hash, created_at: now });
  return { id, token, scopes, role, project_id };
}
