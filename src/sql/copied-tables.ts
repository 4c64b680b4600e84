import type { Kysely } from "kysely";
import type { Migrations } from "./migrate.ts";

/** What a copy of a database takes along; each room that has tables says it of its own. */
export type CopiedTables = {
  readonly migrations: Migrations;
  readonly tables: readonly CopiedTable[];
  /** Those that a copy begins without. */
  readonly left?: readonly string[];
  /** Makes anew what follows from the rows. */
  readonly derive?: (db: Kysely<unknown>) => Promise<void>;
};

export type CopiedTable = {
  readonly name: string;
  /** By which the rows are put in order, and read page by page: no two rows have the same. */
  readonly key: readonly string[];
  /** What an engine numbers itself, in the order of the key, or what is derived. */
  readonly leaves?: readonly string[];
};
