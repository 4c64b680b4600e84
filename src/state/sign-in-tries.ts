import type { Clock } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import type { StateTables } from "./tables.ts";

/**
 * How often an address may fail to sign in at the console, over all processes. Wrong
 * keys use up no tries of the PIN.
 */
export type SignInTries = {
  /** Takes one of the address's tries. Undefined when they are used up. */
  readonly take: (secret: SignInSecret, address: string) => Promise<TakenTry | undefined>;
};

type SignInSecret = "key" | "pin";

type TakenTry = {
  readonly giveBack: () => Promise<void>;
};

const mostWrong = 20;
const memory_ms = 60 * 60_000;

export function createSignInTries(
  { write }: Sql<StateTables>,
  { now }: Pick<Clock, "now">,
): SignInTries {
  return {
    take: (secret, client) =>
      write(async (db) => {
        const at = now();
        const address = `${secret} ${client}`;
        await db
          .deleteFrom("sign_in_tries")
          .where("at", "<=", at - memory_ms)
          .execute();
        const taken = await db
          .selectFrom("sign_in_tries")
          .select("id")
          .where("address", "=", address)
          .limit(mostWrong)
          .execute();
        if (taken.length >= mostWrong) return undefined;
        const { id } = await db
          .insertInto("sign_in_tries")
          .values({ address, at })
          .returning("id")
          .executeTakeFirstOrThrow();
        return {
          giveBack: () =>
            write(async (inner) => {
              await inner.deleteFrom("sign_in_tries").where("id", "=", id).execute();
            }),
        };
      }),
  };
}
