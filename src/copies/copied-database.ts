import type { CopiedTables } from "../sql/copied-tables.ts";
import type { Sql } from "../sql/sql.ts";

/** The databases that a copy is made of: what Waypost remembers, and the service's data. */
export const databaseNames = ["state", "store"] as const;
export type DatabaseName = (typeof databaseNames)[number];

/** One of them, as it is open now. */
export type CopiedDatabase = {
  readonly name: DatabaseName;
  readonly copied: CopiedTables;
  readonly sql: Sql<unknown>;
};

/** Which table rows are of, and which of its columns they have. */
export type TablePlace = {
  readonly database: DatabaseName;
  readonly table: string;
  readonly columns: readonly string[];
};

/** What a table holds as it is copied: whatever the order of its rows, the same digest. */
export type TableSum = { readonly rows: number; readonly digest: string };

/** What a copy has of a table. */
export type CopiedSum = TablePlace & TableSum;

/** The copy cannot be made or read; the message is for whoever asked for it. */
export class CopyFault extends Error {
  override readonly name = "CopyFault";
}

/** The copy would overwrite the data of the database or folder. */
export class TargetTaken extends Error {
  override readonly name = "TargetTaken";
  override readonly message = "the target already contains Waypost data";
}
