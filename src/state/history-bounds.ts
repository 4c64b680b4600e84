import type { Sql } from "../sql/sql.ts";
import type { Db, StateTables } from "./tables.ts";

/** How much of the past is kept: a month of it, and of each key so many changes and bytes. */

const lasts_ms = 30 * 24 * 60 * 60_000;
const mostOfKey = 10_000;
const mostCharactersOfKey = 64 * 1024 * 1024;
/** Other writers need not wait long; what is left goes with the next writes. */
const mostAtOnce = 200;
/** To add the sizes up costs more than to write a change, so it is not done for each. */
const checkedEach = 64;

type Key = { readonly realm: string; readonly key_print: string };

/** Before a change is written, some of those that are too old go, or of a key too many. */
export async function dropOldChanges(
  { db, write }: Sql<StateTables>,
  key: Key,
  now: number,
): Promise<void> {
  const old = now - lasts_ms;
  const numbers = [...(await listOld(db, old)), ...(await listSurplus(db, key))];
  if (numbers.length === 0) return;
  await write(async (inner) => {
    await inner.deleteFrom("changes").where("number", "in", numbers.slice(0, mostAtOnce)).execute();
    const ids = inner.selectFrom("successors").select("id").where("at", "<=", old);
    await inner.deleteFrom("successors").where("id", "in", ids.limit(mostAtOnce)).execute();
  });
}

async function listOld(db: Db, old: number): Promise<readonly number[]> {
  const rows = db.selectFrom("changes").select("number").where("at", "<=", old);
  return (await rows.limit(mostAtOnce).execute()).map(({ number }) => number);
}

async function listSurplus(db: Db, { realm, key_print }: Key): Promise<readonly number[]> {
  const own = db
    .selectFrom("changes")
    .select(["number", "size"])
    .where("realm", "=", realm)
    .where("key_print", "=", key_print)
    .orderBy("number", "desc");
  const newest = await own.limit(1).executeTakeFirst();
  if (newest === undefined || newest.number % checkedEach !== 0) return [];
  let size = 0;
  const surplus = (await own.execute()).filter(
    (row, index) => (size += row.size) > mostCharactersOfKey || index >= mostOfKey,
  );
  return surplus.map(({ number }) => number).toReversed();
}
