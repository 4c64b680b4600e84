import type { Clock } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import type { StateTables } from "./tables.ts";

/**
 * When each job of a key may send its next row, in whichever process it runs: one row after another
 * at even distances, so that two jobs take twice as long and neither waits for the other's burst.
 */
export type JobSpacing = {
  /** Takes the next time and answers how long it is until then. */
  readonly take: (keyPrint: string, kind: string, spacing_ms: number) => Promise<number>;
};

/** What lies further ahead was written before the clock was set back. */
const mostAhead_ms = 60_000;

export function createJobSpacing(
  { write }: Sql<StateTables>,
  { now }: Pick<Clock, "now">,
): JobSpacing {
  return {
    take: (key_print, kind, spacing_ms) =>
      write(async (db) => {
        const time = now();
        const ofKey = db.selectFrom("turns").select("next_at").where("key_print", "=", key_print);
        const known = (await ofKey.where("kind", "=", kind).executeTakeFirst())?.next_at ?? 0;
        const at = Math.max(time, known > time + mostAhead_ms ? 0 : known);
        const next_at = at + spacing_ms;
        await db
          .insertInto("turns")
          .values({ key_print, kind, next_at })
          .onConflict((conflict) =>
            conflict.columns(["key_print", "kind"]).doUpdateSet({ next_at }),
          )
          .execute();
        return at - time;
      }),
  };
}
