import type { Selectable } from "kysely";
import type { ClockAndRandom } from "../contract/clock.ts";
import type { JsonObject } from "../contract/json.ts";
import type { Sql } from "../sql/sql.ts";
import { createPrefixedId } from "./create-id.ts";
import { fitIndex } from "./fit-index.ts";
import { dropEndedChanges, dropOldChanges } from "./history-bounds.ts";
import type { Db, StateTables } from "./tables.ts";

/** What was written, by whom, and what was there before: so that it can be put back. */

type Row = Selectable<StateTables["changes"]>;

/** In place of a key: who sits at the terminal has none. No key's print is as short. */
export const operatorPrint = "operator";

/** One thing that a change did. An undo goes through them from the last to the first. */
export type Effect = {
  readonly kind: string;
  /** Null where it is not known, for the end of the call is not. */
  readonly id: string | null;
  /**
   * The fields that changed, as they were; null where there was nothing, and left out where that
   * is not known. Of what was deleted it is the whole record.
   */
  readonly before?: JsonObject | null;
  /** Fields that changed too, or went, of which nobody knows what they were. */
  readonly unknown?: readonly string[];
  /** The fields as they became, of what was made all of them; null for what was deleted. */
  readonly after: JsonObject | null;
};

export type Target = {
  readonly kind: string;
  readonly target_id: string | null;
  /** By what else it is told from others: a path, a bundle id. */
  readonly target_key: string | null;
  readonly name: string | null;
};

export type Change = Target &
  Readonly<Omit<Row, "number" | "effects" | "size" | "state">> & {
    /** Begun is what was sent, or about to be, and whose end was never seen. */
    readonly state: "begun" | "done";
    readonly effects: readonly Effect[];
  };

/** Who writes: their key, what they call themselves, and the project that they write in. */
export type Writer = Readonly<Pick<Row, "realm" | "key_print" | "client">>;

type Begun = Writer &
  Target & {
    readonly tool: string;
    readonly effects: readonly Effect[];
    readonly note?: string | undefined;
    /** The change that this one undoes. */
    readonly undoes?: string | undefined;
  };

/** Whose changes are read: a project's, or only those of one key in it. */
export type Readers = { readonly realm: string; readonly key_print?: string | undefined };

type Wanted = {
  /** An id, or a path or the like that the target had at the time. */
  readonly target?: string | undefined;
  /** What it was done to. */
  readonly kind?: string | undefined;
};

type Listing = Wanted & {
  readonly from: number;
  readonly limit: number;
};

export type History = {
  /** Written before the request leaves; a row that stays so has an unknown end. */
  readonly begin: (begun: Begun) => Promise<Change>;
  /** Notes what became of it. */
  readonly note: (change: Noted, ended: Partial<Ended>) => Promise<void>;
  /** Of what was refused there is nothing to tell. */
  readonly drop: (change: Noted) => Promise<void>;
  readonly find: (readers: Readers, id: string) => Promise<Change | undefined>;
  readonly list: (readers: Readers, listing: Listing) => Promise<readonly Change[]>;
  readonly count: (readers: Readers, wanted: Wanted) => Promise<number>;
  /** The newest that is not undone, and undoes nothing itself. */
  readonly findLast: (readers: Readers) => Promise<Change | undefined>;
  /** The newest change of a target in so long a time. */
  readonly findRecent: (
    realm: string,
    target: string,
    within_ms: number,
  ) => Promise<Change | undefined>;
  /** Whether the project's history has every change since a time, or had to drop some for room. */
  readonly isWhole: (realm: string, since: number) => Promise<boolean>;
  /** Whatever had the first id has the second one by now: it was deleted, and made anew. */
  readonly noteSuccessor: (realm: string, id: string, successor_id: string) => Promise<void>;
  readonly findSuccessor: (realm: string, id: string) => Promise<string>;
  /** Some of what is too old, of projects in which nobody writes any more. */
  readonly removeEnded: () => Promise<void>;
};

/** A change by its project and its id: each project's are found together, and by themselves. */
type Noted = Readonly<Pick<Row, "realm" | "id">>;

export type Ended = Target & Pick<Change, "state" | "effects"> & Partial<Pick<Change, "note">>;

export function createHistory(sql: Sql<StateTables>, given: ClockAndRandom): History {
  const { db, write } = sql;
  const { clock } = given;
  return {
    begin: async (begun) => {
      await dropOldChanges(sql, begun, clock.now());
      return write((inner) => insertChange(inner, begun, "begun", given));
    },
    note: (change, ended) => write((inner) => noteEnd(inner, change, ended)),
    drop: async ({ realm, id }) => {
      const ofRealm = (inner: Db) => inner.deleteFrom("changes").where("realm", "=", realm);
      await write((inner) => ofRealm(inner).where("id", "=", id).execute());
    },
    find: (readers, id) => listOne(selectOf(db, readers).where("id", "=", id)),
    list: async (readers, { from, limit, ...wanted }) => {
      const query = selectOf(db, readers, wanted).orderBy("number", "desc");
      return (await query.offset(from).limit(limit).execute()).map(readChange);
    },
    count: async (readers, wanted) => {
      const query = selectOf(db, readers, wanted).clearSelect();
      const counted = query.select((row) => row.fn.countAll<number>().as("count"));
      return (await counted.executeTakeFirstOrThrow()).count;
    },
    findLast: (readers) => {
      const standing = selectOf(db, readers).where("undone_by", "is", null);
      return listOne(standing.where("undoes", "is", null).orderBy("number", "desc"));
    },
    findRecent: (realm, target, within_ms) =>
      listOne(
        selectOf(db, { realm })
          .where("target_id", "=", target)
          .where("at", ">=", clock.now() - within_ms)
          .orderBy("at", "desc")
          .orderBy("number", "desc"),
      ),
    isWhole: async (realm, since) => {
      const gaps = db.selectFrom("history_gaps").select("at").where("realm", "=", realm);
      return (await gaps.where("at", ">=", since).executeTakeFirst()) === undefined;
    },
    noteSuccessor: async (realm, id, successor_id) => {
      const found = { successor_id, at: clock.now() };
      await write((inner) =>
        inner
          .insertInto("successors")
          .values({ realm, id, ...found })
          .onConflict((conflict) => conflict.columns(["realm", "id"]).doUpdateSet(found))
          .execute(),
      );
    },
    findSuccessor: (realm, id) => findSuccessor(db, realm, id),
    removeEnded: () => dropEndedChanges(sql, clock.now()),
  };
}

async function listOne(query: ReturnType<typeof selectOf>): Promise<Change | undefined> {
  const row = await query.limit(1).executeTakeFirst();
  return row && readChange(row);
}

async function noteEnd(db: Db, change: Noted, ended: Partial<Ended>): Promise<void> {
  const { kind, target_id, target_key, name, state, effects, note } = ended;
  const text = effects && JSON.stringify(effects);
  await setOne(db, change, {
    kind,
    target_id,
    name,
    state,
    note,
    ...(target_key !== undefined && { target_key: fitKey(target_key) }),
    ...(text !== undefined && { effects: text, size: text.length }),
  });
  if (state === "done") await markUndone(db, change);
}

/** A job is one change, which is written together with the job itself. */
export async function insertChange(
  db: Db,
  begun: Begun,
  state: Change["state"],
  { clock, random }: ClockAndRandom,
): Promise<Change> {
  const { effects, note = null, undoes = null, ...rest } = begun;
  const text = JSON.stringify(effects);
  const id = createPrefixedId("change", random);
  const target_key = fitKey(begun.target_key);
  const row = { id, at: clock.now(), ...rest, target_key, note, undoes, undone_by: null, state };
  await db
    .insertInto("changes")
    .values({ ...row, effects: text, size: text.length })
    .execute();
  if (state === "done") await markUndone(db, row);
  return { ...row, effects };
}

/** The contract bounds ids, but a path may be one that is about to be refused for its length. */
function fitKey(key: string | null): string | null {
  return key === null ? null : fitIndex(key);
}

/**
 * What a change undoes is not in effect any more; and what that one had undone is in effect again.
 */
async function markUndone(db: Db, { realm, id }: Noted): Promise<void> {
  const findUndone = async (undoing: string) => {
    const undoes = db.selectFrom("changes").select("undoes").where("realm", "=", realm);
    return (await undoes.where("id", "=", undoing).executeTakeFirst())?.undoes ?? null;
  };
  let [undoing, undone] = [id, await findUndone(id)];
  for (let isUndone = true; undone !== null; isUndone = !isUndone) {
    await setOne(db, { realm, id: undone }, { undone_by: isUndone ? undoing : null });
    [undoing, undone] = [undone, await findUndone(undone)];
  }
}

/** What is undefined stays as it is. */
async function setOne(
  db: Db,
  { realm, id }: Noted,
  changed: { readonly [Column in keyof Row]?: Row[Column] | undefined },
): Promise<void> {
  const ofRealm = db.updateTable("changes").set(changed).where("realm", "=", realm);
  await ofRealm.where("id", "=", id).execute();
}

function selectOf(db: Db, { realm, key_print }: Readers, { target, kind }: Wanted = {}) {
  let query = db.selectFrom("changes").selectAll().where("realm", "=", realm);
  if (key_print !== undefined) query = query.where("key_print", "=", key_print);
  if (kind !== undefined) query = query.where("kind", "=", kind);
  if (target === undefined) return query;
  const key = fitIndex(target);
  const ofKey = db
    .selectFrom("changes")
    .select("target_id")
    .where("realm", "=", realm)
    .where("target_key", "=", key);
  return query.where((row) =>
    row.or([
      row("target_id", "=", target),
      row("target_key", "=", key),
      row("target_id", "in", ofKey),
    ]),
  );
}

async function findSuccessor(db: Db, realm: string, id: string): Promise<string> {
  let current = id;
  for (let steps = 0; steps < mostSuccessors; steps += 1) {
    const row = await db
      .selectFrom("successors")
      .select("successor_id")
      .where("realm", "=", realm)
      .where("id", "=", current)
      .executeTakeFirst();
    if (row === undefined) break;
    current = row.successor_id;
  }
  return current;
}

/** Nothing is deleted and undone more often than this in the time that a change is kept. */
const mostSuccessors = 1000;

function readChange({ number: _number, size: _size, effects, ...row }: Row): Change {
  // What `insertChange` and `note` wrote as JSON is read back as the same.
  return { ...row, effects: JSON.parse(effects) as readonly Effect[] };
}
