import type { Selectable } from "kysely";
import type { ClockAndRandom } from "../contract/clock.ts";
import type { JsonObject } from "../contract/json.ts";
import type { Sql } from "../sql/sql.ts";
import { createPrefixedId } from "./ids.ts";
import { findValue, saveValue } from "./kept-values.ts";
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
  /** What else identifies it: a path or a bundle id. */
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

type ChangeFilter = {
  /** An id, or a path or the like that the target had at the time. */
  readonly target?: string | undefined;
  /** What it was done to. */
  readonly kind?: string | undefined;
};

type ChangeList = ChangeFilter & { readonly from: number; readonly limit: number };

export type History = {
  /** Written before the request is sent. A row that stays "begun" has an unknown result. */
  readonly begin: (begun: Begun) => Promise<Change>;
  /** Writes the result. */
  readonly note: (change: ChangeId, ended: Partial<Ended>) => Promise<void>;
  /** A change that was refused leaves no row. */
  readonly drop: (change: ChangeId) => Promise<void>;
  readonly find: (readers: Readers, id: string) => Promise<Change | undefined>;
  readonly list: (readers: Readers, listed: ChangeList) => Promise<readonly Change[]>;
  readonly count: (readers: Readers, filter: ChangeFilter) => Promise<number>;
  /** The newest that is not undone, and undoes nothing itself. */
  readonly findLast: (readers: Readers) => Promise<Change | undefined>;
  /** The newest change of a target within this time. */
  readonly findRecent: (
    realm: string,
    target: string,
    within_ms: number,
  ) => Promise<Change | undefined>;
  /** Whether the project's history has every change since a time, or had to drop some for room. */
  readonly isWhole: (realm: string, since: number) => Promise<boolean>;
  /** Ids and paths of the links written since a time, one by one or by jobs. */
  readonly listWritten: (realm: string, since: number) => Promise<ReadonlySet<string>>;
  /** What had the first id was deleted, and was created again with the second one. */
  readonly noteSuccessor: (realm: string, id: string, successor_id: string) => Promise<void>;
  readonly findSuccessor: (realm: string, id: string) => Promise<string>;
};

/** A change is found by its project and its id. */
type ChangeId = Readonly<Pick<Row, "realm" | "id">>;

export type Ended = Target & Pick<Change, "state" | "effects"> & Partial<Pick<Change, "note">>;

export function createHistory(sql: Sql<StateTables>, given: ClockAndRandom): History {
  const { db, write } = sql;
  const { clock } = given;
  let begunHere = 0;
  return {
    begin: async (begun) => {
      if (begunHere % checkedEach === 0) await dropSurplus(sql, begun, clock.now());
      begunHere += 1;
      return write((inner) => insertChange(inner, begun, "begun", given));
    },
    note: (change, ended) => write((inner) => noteEnd(inner, change, ended)),
    drop: async ({ realm, id }) => {
      const ofRealm = (inner: Db) => inner.deleteFrom("changes").where("realm", "=", realm);
      await write((inner) => ofRealm(inner).where("id", "=", id).execute());
    },
    find: (readers, id) => listOne(selectOf(db, readers).where("id", "=", id)),
    list: async (readers, { from, limit, ...filter }) => {
      const query = selectOf(db, readers, filter).orderBy("number", "desc");
      return (await query.offset(from).limit(limit).execute()).map(readChange);
    },
    count: async (readers, filter) => {
      const query = selectOf(db, readers, filter).clearSelect();
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
      const gap = await findValue(db, "history_gap", realm, clock.now());
      return gap === undefined || gap.value < since;
    },
    listWritten: (realm, since) => listWritten(db, realm, since),
    noteSuccessor: (realm, id, value) => {
      const saved = { kind: "successor", key: `${realm} ${id}`, value, at: clock.now() } as const;
      return write((inner) => saveValue(inner, saved));
    },
    findSuccessor: (realm, id) => findSuccessor(db, realm, id, clock.now()),
  };
}

/** The history keeps changes for a month, and of each key so many changes and characters. */
export const historyLasts_ms = 30 * 24 * 60 * 60_000;
const mostOfKey = 10_000;
const mostCharactersOfKey = 64 * 1024 * 1024;
/** Other writers need not wait long for so many rows. */
const mostAtOnce = 200;
/** Adding the sizes up takes longer than writing a change, so it is not done for each. */
const checkedEach = 64;

/** Deletes a key's oldest changes when it has too many, and notes the gap. */
async function dropSurplus(
  { db, write }: Sql<StateTables>,
  { realm, key_print }: Pick<Writer, "realm" | "key_print">,
  now: number,
): Promise<void> {
  const own = db.selectFrom("changes").where("realm", "=", realm);
  const ofKey = own.select(["number", "size"]).where("key_print", "=", key_print);
  let size = 0;
  const surplus = (await ofKey.orderBy("number", "desc").execute()).filter(
    (row, index) => (size += row.size) > mostCharactersOfKey || index >= mostOfKey,
  );
  if (surplus.length === 0) return;
  const oldest = surplus.toReversed().slice(0, mostAtOnce);
  const numbers = oldest.map(({ number }) => number);
  await write(async (inner) => {
    const changes = inner.deleteFrom("changes").where("realm", "=", realm);
    const dropped = await changes.where("number", "in", numbers).returning("at").execute();
    const at = Math.max(...dropped.map((row) => row.at));
    const known = await findValue(inner, "history_gap", realm, now);
    if ((known?.value ?? 0) >= at || dropped.length === 0) return;
    await saveValue(inner, { kind: "history_gap", key: realm, value: at, at });
  });
}

async function listWritten(db: Db, realm: string, since: number): Promise<ReadonlySet<string>> {
  const changes = await db
    .selectFrom("changes")
    .select(["target_id", "target_key"])
    .where((change) => change.and({ realm, kind: "link" }))
    .where("at", ">=", since)
    .execute();
  const rows = await db
    .selectFrom("plan_rows")
    .innerJoin("jobs", "jobs.plan_id", "plan_rows.plan_id")
    .select(["plan_rows.link_id", "result_id", "path"])
    .where("jobs.realm", "=", realm)
    .where("jobs.updated_at", ">=", since)
    .where("status", "is not", null)
    .execute();
  const names = [...changes, ...rows].flatMap((row) => Object.values(row));
  return new Set(names.filter((name) => name !== null));
}

async function listOne(query: ReturnType<typeof selectOf>): Promise<Change | undefined> {
  const row = await query.limit(1).executeTakeFirst();
  return row && readChange(row);
}

async function noteEnd(db: Db, change: ChangeId, ended: Partial<Ended>): Promise<void> {
  const { kind, target_id, target_key, name, state, effects, note } = ended;
  const text = effects && JSON.stringify(effects);
  await setOne(db, change, {
    kind,
    target_id,
    name,
    state,
    note,
    target_key: target_key && fitIndex(target_key),
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
  const target_key = begun.target_key && fitIndex(begun.target_key);
  const row = { id, at: clock.now(), ...rest, target_key, note, undoes, undone_by: null, state };
  await db
    .insertInto("changes")
    .values({ ...row, effects: text, size: text.length })
    .execute();
  if (state === "done") await markUndone(db, row);
  return { ...row, effects };
}

/**
 * The beginning of a text, as it is stored and searched in an index: PostgreSQL refuses an indexed
 * value over 2.7 KB, and a path may be one that is about to be refused for its length.
 */
function fitIndex(text: string): string {
  return text.slice(0, 500).toWellFormed();
}

/**
 * What a change undoes is not in effect any more; and what that one had undone is in effect again.
 */
async function markUndone(db: Db, { realm, id }: ChangeId): Promise<void> {
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
  { realm, id }: ChangeId,
  changed: { readonly [Column in keyof Row]?: Row[Column] | undefined },
): Promise<void> {
  const ofRealm = db.updateTable("changes").set(changed).where("realm", "=", realm);
  await ofRealm.where("id", "=", id).execute();
}

function selectOf(db: Db, { realm, key_print }: Readers, { target, kind }: ChangeFilter = {}) {
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

async function findSuccessor(db: Db, realm: string, id: string, now: number): Promise<string> {
  let current = id;
  for (let steps = 0; steps < mostSuccessors; steps += 1) {
    const found = await findValue(db, "successor", `${realm} ${current}`, now);
    if (found === undefined) break;
    current = found.value;
  }
  return current;
}

/** Nothing is deleted and restored more often than this while a change is kept. */
const mostSuccessors = 1000;

function readChange({ number: _number, size: _size, effects, ...row }: Row): Change {
  // What `insertChange` and `note` wrote as JSON is read back as the same.
  return { ...row, effects: JSON.parse(effects) as readonly Effect[] };
}
