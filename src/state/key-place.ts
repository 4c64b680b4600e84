import type { Kysely } from "kysely";
import type { Db, StateTables } from "./tables.ts";

/**
 * Which machine has the file with the owner's key, and where: whoever starts on another one is
 * told. It is nobody's business but the operator's, as what stands beside it.
 */

const name = "owner_key_place";

/** Within the transaction that makes the key; the tables are in the same database. */
export async function noteKeyPlace<Tables>(db: Kysely<Tables>, value: string): Promise<void> {
  // Kysely knows the tables of one room alone.
  const inner = db as unknown as Kysely<StateTables>;
  const insert = inner.insertInto("secrets").values({ name, value });
  const update = insert.onConflict((conflict) => conflict.column("name").doUpdateSet({ value }));
  await update.execute();
}

export async function readKeyPlace(db: Db): Promise<string | undefined> {
  const found = db.selectFrom("secrets").select("value").where("name", "=", name);
  return (await found.executeTakeFirst())?.value;
}
