import type { Kysely } from "kysely";
import type { Migrations } from "./migrate.ts";

/** What `waypost migrate` copies of a database. Each room that has tables lists its own. */
export type CopiedTables = {
  readonly migrations: Migrations;
  readonly tables: readonly CopiedTable[];
  /** Tables that are empty in the copy. */
  readonly left?: readonly string[];
  /** Rebuilds what is derived from the rows. */
  readonly derive?: (db: Kysely<unknown>) => Promise<void>;
};

export type CopiedTable = {
  readonly name: string;
  /** Rows are read page by page in the order of this key, which is unique. */
  readonly key: readonly string[];
  /** Columns that the engine numbers in the order of the key, or that are derived. */
  readonly leaves?: readonly string[];
};
