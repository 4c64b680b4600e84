import { unaskedOverwrites } from "../contract/approval-rules.ts";
import type { Clock } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import { mostSkew_ms } from "../contract/clock-skew.ts";
import type { Db, StateTables } from "./tables.ts";

/**
 * How often a key has overwritten something without being asked, in all processes of the folder:
 * a loop of single writes is no way round the approval of a plan.
 */
export type Overwrites = {
  /** Counts one; undefined where a person has to be asked first. */
  readonly take: (keyPrint: string) => Promise<TakenOverwrite | undefined>;
  /** A person said yes to one more, and with it to some that follow. */
  readonly grant: (keyPrint: string) => Promise<void>;
};

type TakenOverwrite = {
  /** Nothing was overwritten after all. */
  readonly giveBack: () => Promise<void>;
};

const { most, granted, window_ms } = unaskedOverwrites;

export function createOverwrites(
  { write }: Sql<StateTables>,
  { now }: Pick<Clock, "now">,
): Overwrites {
  return {
    take: (key_print) =>
      write(async (db) => {
        const at = now();
        await deleteOld(db, at);
        if (await changeGranted(db, key_print, -1)) {
          return {
            giveBack: async () => {
              await write((inner) => changeGranted(inner, key_print, 1));
            },
          };
        }
        const { count } = await db
          .selectFrom("overwrites")
          .select((row) => row.fn.countAll<number>().as("count"))
          .where("key_print", "=", key_print)
          .executeTakeFirstOrThrow();
        if (count >= most) return undefined;
        const { id } = await db
          .insertInto("overwrites")
          .values({ key_print, at })
          .returning("id")
          .executeTakeFirstOrThrow();
        return {
          giveBack: async () => {
            await write((inner) => inner.deleteFrom("overwrites").where("id", "=", id).execute());
          },
        };
      }),

    grant: async (key_print) => {
      const grant = { remaining: granted, granted_at: now() };
      await write((db) =>
        db
          .insertInto("overwrite_grants")
          .values({ key_print, ...grant })
          .onConflict((conflict) => conflict.column("key_print").doUpdateSet(grant))
          .execute(),
      );
    },
  };
}

/** What lies in the future was written before the clock was set back: a grant of then is over. */
async function deleteOld(db: Db, now: number): Promise<void> {
  const old = now - window_ms;
  await db.deleteFrom("overwrites").where("at", "<=", old).execute();
  await db
    .deleteFrom("overwrite_grants")
    .where((row) =>
      row.or([row("granted_at", "<=", old), row("granted_at", ">", now + mostSkew_ms)]),
    )
    .execute();
}

/** False where there is no grant, or no more of it. */
async function changeGranted(db: Db, key_print: string, by: -1 | 1): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("overwrite_grants")
    .set((row) => ({ remaining: row("remaining", "+", by) }))
    .where("key_print", "=", key_print)
    .where("remaining", ">=", by === -1 ? 1 : 0)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}
