import type { Role, Scope } from "../contract/policy.ts";
import { prepareQuery } from "./prepared.ts";
import { readFlags } from "./projects.ts";
import type { Db } from "./tenant.ts";

/** API keys. The token itself is never here: only its SHA-256. */

export type Key = {
  readonly id: string;
  /** Null for a master key. */
  readonly project_id: string | null;
  readonly scopes: readonly Scope[];
  readonly role: Role;
  readonly created_at: number;
};

export type NewKey = Key & { readonly token_hash: string };

/** Who a key is, with what the first checks of a request look at: one read for each request. */
export type KeyHolder = {
  readonly key_id: string;
  readonly token_hash: string;
  readonly scopes: readonly Scope[];
  readonly role: Role;
  readonly project: {
    readonly id: string;
    readonly name: string;
    readonly plan: "free" | "pro";
    readonly suspended: boolean;
    readonly max_links: number;
    readonly subdomain: string;
    readonly custom_domain: string | null;
    readonly custom_domain_verified: boolean;
    readonly link_in_referrer: boolean;
    readonly templates_enabled: boolean;
  } | null;
};

const selectHolder = prepareQuery((db) =>
  db
    .selectFrom("api_keys")
    .leftJoin("projects", "projects.id", "api_keys.project_id")
    .select(["api_keys.id", "token_hash", "scopes", "role", "api_keys.project_id"])
    .select(["plan", "suspended", "max_links"])
    .select(["subdomain", "custom_domain", "custom_domain_verified", "link_in_referrer"])
    .select(["projects.name", "templates_enabled"])
    .where("token_hash", "=", ""),
);

export async function findKeyHolder(db: Db, tokenHash: string): Promise<KeyHolder | undefined> {
  const row = await selectHolder(db, [tokenHash]);
  if (row === undefined) return undefined;
  const { id, token_hash, role, project_id } = row;
  return {
    key_id: id,
    token_hash,
    scopes: readScopes(row.scopes),
    role,
    project:
      project_id === null
        ? null
        : {
            id: project_id,
            plan: row.plan ?? "free",
            max_links: row.max_links ?? 0,
            subdomain: row.subdomain ?? "",
            custom_domain: row.custom_domain,
            name: row.name ?? "",
            ...readFlags(row),
          },
  };
}

export async function insertKey(db: Db, key: NewKey): Promise<void> {
  const { scopes, created_at } = key;
  await db
    .insertInto("api_keys")
    .values({ ...key, scopes: JSON.stringify(scopes), updated_at: created_at })
    .onConflict((conflict) => conflict.column("token_hash").doNothing())
    .execute();
}

export async function listKeys(db: Db, projectId?: string): Promise<readonly Key[]> {
  let query = db
    .selectFrom("api_keys")
    .select(["id", "project_id", "scopes", "role", "created_at"])
    .orderBy("created_at")
    .orderBy("id");
  if (projectId !== undefined) query = query.where("project_id", "=", projectId);
  const rows = await query.execute();
  return rows.map((row) => ({ ...row, scopes: readScopes(row.scopes) }));
}

/** Revokes a key for ever; false when there is none. */
export async function deleteKey(db: Db, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom("api_keys")
    .where("id", "=", id)
    .executeTakeFirst();
  return numDeletedRows === 1n;
}

/** We wrote this column ourselves, as the JSON of scopes that were checked. */
function readScopes(json: string): readonly Scope[] {
  return JSON.parse(json) as Scope[];
}
