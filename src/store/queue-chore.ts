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

/** Ends a chore, whether it is done or no longer wanted. */
export async function takeChoreBack(
  db: Db,
  { kind, project_id, subject }: ChoreTable,
): Promise<void> {
  await db
    .deleteFrom("chores")
    .where("kind", "=", kind)
    .where("project_id", "=", project_id)
    .where("subject", "=", subject)
    .execute();
}
