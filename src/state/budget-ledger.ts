import { readSpan, type BudgetName } from "../contract/budgets.ts";
import type { Clock } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import type { Db, StateTables } from "./tables.ts";

/**
 * What all processes on this machine have spent of a key's budgets, so that none of them is refused
 * for calls that another one made.
 */
export type SharedBudgetLedger = {
  /** The next place in a budget, which is left again when its call has ended. */
  readonly queue: (keyPrint: string, budget: BudgetName) => SharedPlace;
};

type SharedPlace = {
  /** How long the call has to wait, where so many are allowed in any window. */
  readonly readWait_ms: (limit: number) => Promise<number>;
  /** A place counts from its answer on, as the deployment counted it some time before. */
  readonly leave: (isSpent: boolean) => Promise<void>;
};

export function createSharedBudgetLedger(
  { write }: Sql<StateTables>,
  { now }: Pick<Clock, "now">,
): SharedBudgetLedger {
  return {
    queue: (key_print, budget) => {
      const span_ms = readSpan(budget);
      let id: number | undefined;
      return {
        readWait_ms: async (limit) => {
          const taken = await write(async (db) => {
            const time = now();
            await deleteOld(db, budget, time, span_ms);
            const freeing = await findFreeing(db, { key_print, budget, id }, limit);
            const at = freeing === undefined ? time : freeing + span_ms;
            const place = await writePlace(db, { key_print, budget, at }, id);
            return { id: place, wait_ms: at - time };
          });
          // A number that was not committed may be another key's place by now.
          ({ id } = taken);
          return taken.wait_ms;
        },
        leave: async (isSpent) => {
          if (id === undefined) return;
          const place = id;
          await write(async (db) => {
            const spent = db.updateTable("spent").set({ at: now() }).where("id", "=", place);
            const unspent = db.deleteFrom("spent").where("id", "=", place);
            await (isSpent ? spent : unspent).execute();
          });
        },
      };
    },
  };
}

/** What lies too far ahead was written before the clock was set back. */
async function deleteOld(db: Db, budget: BudgetName, time: number, span_ms: number): Promise<void> {
  await db
    .deleteFrom("spent")
    .where("budget", "=", budget)
    .where((row) => row.or([row("at", "<=", time - span_ms), row("at", ">", time + 2 * span_ms)]))
    .execute();
}

type Asked = {
  readonly key_print: string;
  readonly budget: BudgetName;
  readonly id: number | undefined;
};

/** When the earlier place was taken that must be free again before this one can be taken. */
async function findFreeing(
  db: Db,
  { key_print, budget, id }: Asked,
  limit: number,
): Promise<number | undefined> {
  let earlier = db
    .selectFrom("spent")
    .select("at")
    .where("key_print", "=", key_print)
    .where("budget", "=", budget)
    .orderBy("at", "desc")
    .offset(limit - 1)
    .limit(1);
  // Places are taken in the order in which they were asked for.
  if (id !== undefined) earlier = earlier.where("id", "<", id);
  return (await earlier.executeTakeFirst())?.at;
}

async function writePlace(
  db: Db,
  place: Omit<StateTables["spent"], "id">,
  id: number | undefined,
): Promise<number> {
  const written = await db
    .insertInto("spent")
    .values({ ...place, ...(id !== undefined && { id }) })
    .onConflict((conflict) => conflict.column("id").doUpdateSet({ at: place.at }))
    .returning("id")
    .executeTakeFirstOrThrow();
  return written.id;
}
