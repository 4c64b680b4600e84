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

/** Before a change is written, some of its project's that are too old go, or of a key too many. */
export async function dropOldChanges(sql: Sql<StateTables>, key: Key, now: number): Promise<void> {
  const { realm } = key;
  const old = now - lasts_ms;
  const oldest = [...(await listOldest(sql.db, realm, old)), ...(await listSurplus(sql.db, key))];
  if (oldest.length > 0) await drop(sql, { realm, numbers: oldest.slice(0, mostAtOnce), old });
}

/** What is too old in whichever project: looked for now and then, and by nobody who waits. */
export async function dropEndedChanges(sql: Sql<StateTables>, now: number): Promise<void> {
  const old = now - lasts_ms;
  const found = sql.db.selectFrom("changes").select(["realm", "number"]).where("at", "<=", old);
  const ended = new Map<string, number[]>();
  for (const { realm, number } of await found.limit(mostAtOnce).execute()) {
    ended.set(realm, [...(ended.get(realm) ?? []), number]);
  }
  for (const [realm, numbers] of ended) await drop(sql, { realm, numbers, old });
}

type Dropped = {
  readonly realm: string;
  readonly numbers: readonly number[];
  readonly old: number;
};

async function drop({ write }: Sql<StateTables>, { realm, numbers, old }: Dropped): Promise<void> {
  await write(async (db) => {
    await noteGap(db, { realm, numbers, old });
    const changes = db.deleteFrom("changes").where("realm", "=", realm);
    await changes.where("number", "in", numbers).execute();
    const successors = db.selectFrom("successors").select("id").where("realm", "=", realm);
    const ids = successors.where("at", "<=", old).limit(mostAtOnce);
    const ended = db.deleteFrom("successors").where("realm", "=", realm);
    await ended.where("id", "in", ids).execute();
    const gaps = db.deleteFrom("history_gaps").where("realm", "=", realm);
    await gaps.where("at", "<=", old).execute();
  });
}

/** A reader must know that the history lacks changes which are not too old. */
async function noteGap(db: Db, { realm, numbers, old }: Dropped): Promise<void> {
  const dropped = db.selectFrom("changes").where("realm", "=", realm);
  const { at } = await dropped
    .where("number", "in", numbers)
    .select((row) => row.fn.max<number | null>("at").as("at"))
    .executeTakeFirstOrThrow();
  if (at === null || at <= old) return;
  await db
    .insertInto("history_gaps")
    .values({ realm, at })
    .onConflict((conflict) =>
      conflict.column("realm").doUpdateSet({ at }).where("history_gaps.at", "<", at),
    )
    .execute();
}

/** By their numbers, as they were begun: mostly it is enough to look at the first. */
async function listOldest(db: Db, realm: string, old: number): Promise<readonly number[]> {
  const begun = db.selectFrom("changes").select(["number", "at"]).where("realm", "=", realm);
  const oldest = begun.orderBy("number");
  const [first] = await oldest.limit(1).execute();
  if (first === undefined || first.at > old) return [];
  const rows = await oldest.limit(mostAtOnce).execute();
  return rows.filter(({ at }) => at <= old).map(({ number }) => number);
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
