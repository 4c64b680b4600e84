import type { Kysely } from "kysely";
import type { Tables } from "./tables.ts";

export type Db = Kysely<Tables>;

/**
 * One project's rows, seen through one connection. Whatever reads or writes a tenant table takes
 * a Tenant, so no query can forget whose rows it means.
 */
export type Tenant = { readonly db: Db; readonly projectId: string };
