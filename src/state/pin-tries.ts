import type { Clock } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import type { StateTables } from "./tables.ts";

/** How often a PIN may be guessed. */
export type PinTries = {
  /**
   * Takes one of an approval's tries before its PIN is checked, so that many at once get no more
   * than one after another would. False when the tries of the approval or the folder are used up.
   */
  readonly take: (approval: string) => Promise<boolean>;
  /** A right PIN gives all tries back to the folder. */
  readonly forgive: () => Promise<void>;
};

const triesForOne = 5;
/** Each new approval has new tries, so the tries of all approvals together are limited too. */
const triesForAll = 20;
const memory_ms = 60 * 60_000;

export function createPinTries(sql: Sql<StateTables>, { now }: Pick<Clock, "now">): PinTries {
  return {
    take: (approval) =>
      sql.write(async (db) => {
        const at = now();
        const forgotten_at = at - memory_ms;
        await db.deleteFrom("pin_tries").where("at", "<=", forgotten_at).execute();
        const { count } = await db
          .selectFrom("pin_tries")
          .select((row) => row.fn.countAll<number>().as("count"))
          .executeTakeFirstOrThrow();
        if (count >= triesForAll) return false;
        const { numUpdatedRows } = await db
          .updateTable("approvals")
          .set((row) => ({ pin_tries: row("pin_tries", "+", 1) }))
          .where("id", "=", approval)
          .where("pin_tries", "<", triesForOne)
          .executeTakeFirst();
        if (numUpdatedRows === 0n) return false;
        await db.insertInto("pin_tries").values({ at }).execute();
        return true;
      }),

    forgive: async () => {
      await sql.write((db) => db.deleteFrom("pin_tries").execute());
    },
  };
}
