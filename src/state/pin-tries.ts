import type { Clock } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import type { Db, StateTables } from "./tables.ts";

/**
 * How often a PIN may be guessed. The tries belong to the approval and to the key that asked for
 * it, so that one assistant's guesses leave the approvals of others as they are.
 */
export type PinTries = {
  /**
   * Takes one of an approval's tries before its PIN is checked, so that many at once get no more
   * than one after another would. Undefined when the tries of the approval or of its key are used
   * up.
   */
  readonly take: (approval: string) => Promise<TakenTry | undefined>;
  /** How many wrong PINs an approval may still get. */
  readonly read: (approval: string) => Promise<TriesLeft>;
};

type TakenTry = {
  /**
   * The PIN was right, so that it was no wrong one. It forgives none of the others: between two
   * approvals that a person gives, an assistant that guesses would get all of its tries again.
   */
  readonly giveBack: () => Promise<void>;
};

export type TriesLeft = {
  readonly left: number;
  /** When the key may have a PIN tried again; undefined while it may, whatever the approval has. */
  readonly blocked_until: number | undefined;
};

const triesForOne = 5;
/** Each new approval has new tries, so the tries of all approvals of a key are limited too. */
const triesForKey = 20;
const memory_ms = 60 * 60_000;

export function createPinTries(sql: Sql<StateTables>, { now }: Pick<Clock, "now">): PinTries {
  return {
    take: (approval) =>
      sql.write(async (db) => {
        const at = now();
        await db
          .deleteFrom("pin_tries")
          .where("at", "<=", at - memory_ms)
          .execute();
        const found = await readTries(db, approval, at);
        if (found === undefined || found.left === 0) return undefined;
        const { key_print } = found;
        await changeTries(db, approval, 1);
        await db.insertInto("pin_tries").values({ key_print, at }).execute();
        return { giveBack: () => sql.write((inner) => giveBack(inner, approval, key_print, at)) };
      }),

    read: async (approval) => {
      const { left = 0, blocked_until } = (await readTries(sql.db, approval, now())) ?? {};
      return { left, blocked_until };
    },
  };
}

/** Those of one moment are alike. */
async function giveBack(db: Db, approval: string, key_print: string, at: number): Promise<void> {
  const taken = db.selectFrom("pin_tries").select("rowid").where("at", "=", at);
  const one = taken.where("key_print", "=", key_print).limit(1);
  await db.deleteFrom("pin_tries").where("rowid", "in", one).execute();
  await changeTries(db, approval, -1);
}

async function changeTries(db: Db, approval: string, by: 1 | -1): Promise<void> {
  await db
    .updateTable("approvals")
    .set((row) => ({ pin_tries: row("pin_tries", "+", by) }))
    .where("id", "=", approval)
    .execute();
}

async function readTries(
  db: Db,
  approval: string,
  now: number,
): Promise<(TriesLeft & { readonly key_print: string }) | undefined> {
  const row = await db
    .selectFrom("approvals")
    .select(["key_print", "pin_tries"])
    .where("id", "=", approval)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { key_print, pin_tries } = row;
  const newest = await db
    .selectFrom("pin_tries")
    .select("at")
    .where("key_print", "=", key_print)
    .where("at", ">", now - memory_ms)
    .orderBy("at", "desc")
    .limit(triesForKey)
    .execute();
  // The first of them is the first to be forgotten.
  const first = newest[triesForKey - 1];
  const left = Math.max(0, Math.min(triesForOne - pin_tries, triesForKey - newest.length));
  return { key_print, left, blocked_until: first === undefined ? undefined : first.at + memory_ms };
}
