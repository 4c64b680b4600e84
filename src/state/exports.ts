import type { ClockAndRandom } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import { createPrefixedId } from "./create-id.ts";
import { noLimit } from "./drop-plans.ts";
import type { Db, StateTables } from "./tables.ts";

/** Exported files of links, kept for the time in which an assistant may read their pages. */

export type Exports = {
  readonly save: (
    keyPrint: string,
    type: string,
    pages: AsyncIterable<string>,
  ) => Promise<Exported>;
  readonly findPage: (keyPrint: string, id: string, page: number) => Promise<Page | undefined>;
  readonly removeEnded: () => Promise<void>;
};

export type Exported = { readonly id: string; readonly pages: number };
type Page = { readonly type: string; readonly text: string };

const lasts_ms = 60 * 60_000;
const mostOfKey = 10;

export function createExports(
  { db, write }: Sql<StateTables>,
  { clock, random }: ClockAndRandom,
): Exports {
  return {
    save: async (key_print, type, pages) => {
      await dropOld(db, write, key_print, clock.now());
      const id = createPrefixedId("export", random);
      const expires_at = clock.now() + lasts_ms;
      let page = 0;
      try {
        for await (const text of pages) {
          page += 1;
          const row = { id, key_print, type, page, text, expires_at };
          await write((inner) => inner.insertInto("exports").values(row).execute());
        }
      } catch (error) {
        await write((inner) => deleteOf(inner, key_print).where("id", "=", id).execute());
        throw error;
      }
      return { id, pages: page };
    },

    findPage: (key_print, id, page) =>
      db
        .selectFrom("exports")
        .select(["type", "text"])
        .where("id", "=", id)
        .where("page", "=", page)
        .where("key_print", "=", key_print)
        .where("expires_at", ">", clock.now())
        .executeTakeFirst(),

    removeEnded: () => write((inner) => removeEnded(inner, clock.now())),
  };
}

/** Before a new file is saved, those that are over go, and the oldest where a key has too many. */
async function dropOld(
  db: Db,
  write: Sql<StateTables>["write"],
  keyPrint: string,
  now: number,
): Promise<void> {
  const own = db.selectFrom("exports").select("id").distinct().where("key_print", "=", keyPrint);
  const newest = own.select("expires_at").orderBy("expires_at", "desc");
  const kept = mostOfKey - 1;
  const surplus = await newest.limit(noLimit).offset(kept).execute();
  const ids = surplus.map(({ id }) => id);
  await write(async (inner) => {
    await removeEnded(inner, now);
    if (ids.length > 0) await deleteOf(inner, keyPrint).where("id", "in", ids).execute();
  });
}

async function removeEnded(db: Db, now: number): Promise<void> {
  await db.deleteFrom("exports").where("expires_at", "<=", now).execute();
}

function deleteOf(db: Db, keyPrint: string) {
  return db.deleteFrom("exports").where("key_print", "=", keyPrint);
}
