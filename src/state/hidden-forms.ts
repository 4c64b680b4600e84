import type { Clock } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import type { Db, StateTables } from "./tables.ts";

/**
 * Clients that declare forms and do not show them. A stdio session is a process of its own, so
 * only the state spares the user a form that never appears in each new session.
 */
export type HiddenForms = {
  readonly note: (client: FormClient) => Promise<void>;
  readonly has: (client: FormClient) => Promise<boolean>;
  readonly removeEnded: () => Promise<void>;
};

/** `client` is a digest: a client's name and version are texts of any length. */
export type FormClient = { readonly key_print: string; readonly client: string };

const kept_ms = 24 * 60 * 60_000;
/** The client chooses its name and version, so one key could otherwise fill the table. */
const mostOfKey = 100;

export function createHiddenForms(
  { db, write }: Sql<StateTables>,
  { now }: Pick<Clock, "now">,
): HiddenForms {
  return {
    note: ({ key_print, client }) =>
      write(async (inner) => {
        const at = now();
        await removeOld(inner, at);
        await removeOldest(inner, key_print);
        await inner
          .insertInto("hidden_forms")
          .values({ key_print, client, at })
          .onConflict((conflict) => conflict.columns(["key_print", "client"]).doUpdateSet({ at }))
          .execute();
      }),
    has: async ({ key_print, client }) => {
      const time = now();
      const found = await db
        .selectFrom("hidden_forms")
        .select("at")
        .where("key_print", "=", key_print)
        .where("client", "=", client)
        .where("at", ">=", time - kept_ms)
        // A later time was written before the clock was set back.
        .where("at", "<=", time)
        .executeTakeFirst();
      return found !== undefined;
    },
    removeEnded: () => write((inner) => removeOld(inner, now())),
  };
}

async function removeOld(db: Db, time: number): Promise<void> {
  await db
    .deleteFrom("hidden_forms")
    .where("at", "<", time - kept_ms)
    .execute();
}

/** Makes room for one more client of the key. */
async function removeOldest(db: Db, keyPrint: string): Promise<void> {
  const newest = db
    .selectFrom("hidden_forms")
    .select("client")
    .where("key_print", "=", keyPrint)
    .orderBy("at", "desc")
    .limit(mostOfKey - 1);
  await db
    .deleteFrom("hidden_forms")
    .where("key_print", "=", keyPrint)
    .where("client", "not in", newest)
    .execute();
}
