import type { ChoreTable } from "./tables.ts";
import type { Db } from "./tenant.ts";

/** Writes long work down in the transaction that decides it; `chores.ts` does it. */
export async function queueChore(db: Db, chore: ChoreTable): Promise<void> {
  await db
    .insertInto("chores")
    .values(chore)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}
