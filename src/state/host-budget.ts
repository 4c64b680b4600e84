import type { Clock } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import { mostSkew_ms } from "../contract/clock-skew.ts";
import type { StateTables } from "./tables.ts";

/** How often a key may have a host asked, by all processes of this data folder. */
export type HostBudget = {
  /** False when nothing is left of the hour's budget. */
  readonly take: (keyPrint: string) => Promise<boolean>;
};

const budget = "hosts";
const limit = 1000;
const window_ms = 60 * 60_000;

export function createHostBudget(
  { write }: Sql<StateTables>,
  { now }: Pick<Clock, "now">,
): HostBudget {
  return {
    take: (key_print) =>
      write(async (db) => {
        const at = now();
        // What lies ahead was written before the clock was set back.
        await db
          .deleteFrom("spent")
          .where("budget", "=", budget)
          .where((row) =>
            row.or([row("at", "<=", at - window_ms), row("at", ">", at + mostSkew_ms)]),
          )
          .execute();
        const { count } = await db
          .selectFrom("spent")
          .select((row) => row.fn.countAll<number>().as("count"))
          .where("key_print", "=", key_print)
          .where("budget", "=", budget)
          .executeTakeFirstOrThrow();
        if (count >= limit) return false;
        await db.insertInto("spent").values({ key_print, budget, at }).execute();
        return true;
      }),
  };
}
