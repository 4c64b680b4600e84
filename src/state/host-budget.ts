import type { Clock } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import { mostSkew_ms } from "../contract/clock-skew.ts";
import type { StateTables } from "./tables.ts";

/** How many strangers' hosts a key may have asked, by all processes of this data folder. */
export type HostBudget = {
  /** Takes as many of them as are left in the hour. */
  readonly take: (keyPrint: string, wanted: number) => Promise<number>;
};

const budget = "destination_hosts";
const limit = 1000;
const window_ms = 60 * 60_000;

export function createHostBudget(
  { write }: Sql<StateTables>,
  { now }: Pick<Clock, "now">,
): HostBudget {
  return {
    take: (key_print, wanted) =>
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
        const taken = Math.max(0, Math.min(wanted, limit - count));
        const places = Array.from({ length: taken }, () => ({ key_print, budget, at }));
        if (taken > 0) await db.insertInto("spent").values(places).execute();
        return taken;
      }),
  };
}
