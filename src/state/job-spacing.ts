import type { Clock } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import type { StateTables } from "./tables.ts";

/**
 * Whose turn it is among the jobs of a key, in whichever process they run: one row after another,
 * evenly, so that two jobs take twice as long and neither waits for the other's burst.
 */
export type JobSpacing = {
  /** Takes the next turn and answers how long it is until then. */
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
        const [known] = await db
          .selectFrom("turns")
          .select("next_at")
          .where("key_print", "=", key_print)
          .where("kind", "=", kind)
          .execute();
        const next = known === undefined || known.next_at > time + mostAhead_ms ? 0 : known.next_at;
        const at = Math.max(time, next);
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
