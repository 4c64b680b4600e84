import type { Kysely } from "kysely";
import type { Migrations } from "./migrate.ts";
import type { Engine } from "./sql.ts";

/** What a copy of a database takes along; each room that has tables says it of its own. */
export type CopiedTables = {
  readonly migrations: Readonly<Record<Engine, Migrations>>;
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
  /** The key of a table that was made anew, as it was below a level of migrations. */
  readonly earlier?: { readonly below: number; readonly key: readonly string[] };
  /** What an engine numbers itself, in the order of the key, or what is derived. */
  readonly leaves?: readonly string[];
};

/**
 * How far migrations have come, by the number that each name begins with: the tables of one number
 * hold the same in every engine.
 */
export function readLevel(names: readonly string[]): number {
  return Math.max(0, ...names.map((name) => Number.parseInt(name, 10) || 0));
}

export function takeUpTo({ table, list }: Migrations, level: number): Migrations {
  return { table, list: list.filter(({ name }) => readLevel([name]) <= level) };
}
