import { createHash } from "node:crypto";
import type { ClockAndRandom } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import type { Db, StateTables } from "./tables.ts";

/** Pages as they would be, kept for as long as a person may look at them. */

export type Previews = {
  /** What the page is found by: whoever knows it may look, so that it is not to be guessed. */
  readonly save: (keyPrint: string, html: string) => Promise<string>;
  /** As often as somebody looks. */
  readonly find: (token: string) => Promise<string | undefined>;
  readonly removeEnded: () => Promise<void>;
};

/** A longer page is not kept. */
export const mostPreviewBytes = 1024 * 1024;

const lasts_ms = 10 * 60_000;
/** More than a person looks at in that time: each address that was told opens for all of it. */
const mostOfKey = 100;
const tokenBytes = 16;

export function createPreviews(
  { db, write }: Sql<StateTables>,
  { clock, random }: ClockAndRandom,
): Previews {
  return {
    save: async (key_print, html) => {
      const token = Buffer.from(random.bytes(tokenBytes)).toString("base64url");
      const now = clock.now();
      const row = { token_hash: hash(token), key_print, html, expires_at: now + lasts_ms };
      await write(async (inner) => {
        await removeEnded(inner, now);
        await removeOldest(inner, key_print);
        await inner.insertInto("previews").values(row).execute();
      });
      return token;
    },

    find: async (token) => {
      const found = await db
        .selectFrom("previews")
        .select("html")
        .where("token_hash", "=", hash(token))
        .where("expires_at", ">", clock.now())
        .executeTakeFirst();
      return found?.html;
    },

    removeEnded: () => write((inner) => removeEnded(inner, clock.now())),
  };
}

async function removeEnded(db: Db, now: number): Promise<void> {
  await db.deleteFrom("previews").where("expires_at", "<=", now).execute();
}

/** So that with the next one a key has no more than it may. */
async function removeOldest(db: Db, keyPrint: string): Promise<void> {
  const newest = db
    .selectFrom("previews")
    .select("token_hash")
    .where("key_print", "=", keyPrint)
    .orderBy("expires_at", "desc")
    .limit(mostOfKey - 1);
  await db
    .deleteFrom("previews")
    .where("key_print", "=", keyPrint)
    .where("token_hash", "not in", newest)
    .execute();
}

function hash(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}
