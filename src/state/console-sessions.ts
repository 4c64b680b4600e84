import type { Clock } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import type { StateTables } from "./tables.ts";

/**
 * Who is signed in at the console, and the addresses that sign in once. Both are found by the hash
 * of a token that only a browser or a terminal has; what they hold is sealed by that token.
 */

type Row = StateTables["console_sessions"];
type Kind = Row["kind"];

export type ConsoleSessions = {
  readonly save: (row: Row) => Promise<void>;
  /** What is sealed in it, and until when, while it lasts. */
  readonly find: (kind: Kind, tokenHash: string) => Promise<Found | undefined>;
  /** It lasts so long from now on; one that has ended stays so. */
  readonly extend: (tokenHash: string, expires_at: number) => Promise<void>;
  /** As `find`, and it is gone: whoever asks first has it, in whichever process. */
  readonly take: (kind: Kind, tokenHash: string) => Promise<Found | undefined>;
  readonly removeEnded: () => Promise<void>;
};

type Found = Readonly<Pick<Row, "sealed" | "expires_at">>;

export function createConsoleSessions(
  { db, write }: Sql<StateTables>,
  { now }: Pick<Clock, "now">,
): ConsoleSessions {
  return {
    save: (row) =>
      write(async (inner) => {
        await inner.insertInto("console_sessions").values(row).execute();
      }),

    find: (kind, tokenHash) =>
      db
        .selectFrom("console_sessions")
        .select(["sealed", "expires_at"])
        .where("token_hash", "=", tokenHash)
        .where("kind", "=", kind)
        .where("expires_at", ">", now())
        .executeTakeFirst(),

    extend: (tokenHash, expires_at) =>
      write(async (inner) => {
        await inner
          .updateTable("console_sessions")
          .set({ expires_at })
          .where("token_hash", "=", tokenHash)
          .where("expires_at", ">", now())
          .execute();
      }),

    take: (kind, tokenHash) =>
      write(async (inner) => {
        const found = await inner
          .deleteFrom("console_sessions")
          .where("token_hash", "=", tokenHash)
          .where("kind", "=", kind)
          .returning(["sealed", "expires_at"])
          .executeTakeFirst();
        return found !== undefined && found.expires_at > now() ? found : undefined;
      }),

    removeEnded: () =>
      write(async (inner) => {
        await inner.deleteFrom("console_sessions").where("expires_at", "<=", now()).execute();
      }),
  };
}
