import type { Random } from "../contract/clock.ts";
import type { Store } from "./store.ts";

/** What only the processes of a store know, made by the first that needs it. */

const key_bytes = 32;
const name = "deferred visits";

/** By which visits are hashed that an install may follow. */
export async function readSealKey(
  { db, write }: Pick<Store, "db" | "write">,
  random: Random,
): Promise<string> {
  const there = await findSecret(db);
  if (there !== undefined) return there;
  return write(async (tx) => {
    const value = Buffer.from(random.bytes(key_bytes)).toString("base64url");
    const inserted = tx.insertInto("store_secrets").values({ name, value });
    await inserted.onConflict((conflict) => conflict.column("name").doNothing()).execute();
    // Another process may have been the first.
    return (await findSecret(tx)) ?? value;
  });
}

async function findSecret(db: Store["db"]): Promise<string | undefined> {
  const found = db.selectFrom("store_secrets").select("value").where("name", "=", name);
  return (await found.executeTakeFirst())?.value;
}
