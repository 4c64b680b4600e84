import type { Selectable } from "kysely";
import type { ClockAndRandom } from "../contract/clock.ts";
import type { JsonObject } from "../contract/json.ts";
import type { Sql } from "../sql/sql.ts";
import { createPrefixedId, type StateDb, type StateTables } from "./tables.ts";
import { findValue, saveValue } from "./expiring-values.ts";

/** Stores every change with its key and the previous state, so that it can be undone. */

type ChangeRow = Selectable<StateTables["changes"]>;

/** Stored instead of a key hash for an operator, who has no key. Key hashes are always longer. */
export const operatorPrint = "operator";

/** One effect of a change. Undo reverts the effects from last to first. */
export type Effect = {
  readonly kind: string;
  /** The record's id; null until it is known. */
  readonly id: string | null;
  /**
   * The previous values of the changed fields, or the whole record if it was deleted. Null if the
   * record did not exist. Omitted if the previous values are unknown.
   */
  readonly before?: JsonObject | null;
  /** Names of changed or deleted fields whose previous values are unknown. */
  readonly unknown?: readonly string[];
  /** The new values of the changed fields or of a new record. Null for a deleted record. */
  readonly after: JsonObject | null;
};

export type ChangeTarget = {
  readonly kind: string;
  readonly target_id: string | null;
  /** Another identifier of the target, such as a path or bundle ID. */
  readonly target_key: string | null;
  readonly name: string | null;
};

export type Change = ChangeTarget &
  Readonly<Omit<ChangeRow, "number" | "effects" | "size" | "state">> & {
    /** `begun` until the result of the request is known. */
    readonly state: "begun" | "done";
    readonly effects: readonly Effect[];
  };

/** Who made a change: the project, the key and the client. */
export type ChangeAuthor = Readonly<Pick<ChangeRow, "realm" | "key_print" | "client">>;

type StartedChange = ChangeAuthor &
  ChangeTarget & {
    readonly tool: string;
    readonly effects: readonly Effect[];
    readonly note?: string | undefined;
    readonly undoes?: string | undefined;
  };

/** Which changes to read: all of a project, or only those made with one of its keys. */
export type Readers = { readonly realm: string; readonly key_print?: string | undefined };

type ChangeFilter = {
  /** The target's ID, or a path or other identifier that the target had when it was changed. */
  readonly target?: string | undefined;
  readonly kind?: string | undefined;
};

type ChangeList = ChangeFilter & { readonly from: number; readonly limit: number };

export type History = {
  /** Saves a change before its request is sent. If it stays `begun`, the result is unknown. */
  readonly begin: (begun: StartedChange) => Promise<Change>;
  readonly note: (change: ChangeId, ended: Partial<ChangeEnd>) => Promise<void>;
  /** Deletes a change whose request was rejected. */
  readonly drop: (change: ChangeId) => Promise<void>;
  readonly find: (readers: Readers, id: string) => Promise<Change | undefined>;
  readonly list: (readers: Readers, listed: ChangeList) => Promise<readonly Change[]>;
  readonly count: (readers: Readers, filter: ChangeFilter) => Promise<number>;
  /** Finds the latest change that is not an undo and was not undone. */
  readonly findLast: (readers: Readers) => Promise<Change | undefined>;
  /** Finds a target's latest change that is not older than `within_ms`. */
  readonly findRecent: (
    realm: string,
    target: string,
    within_ms: number,
  ) => Promise<Change | undefined>;
  /** Records that a deleted record was created again with a new id. */
  readonly noteSuccessor: (realm: string, id: string, successor_id: string) => Promise<void>;
  readonly findSuccessor: (realm: string, id: string) => Promise<string>;
};

type ChangeId = Readonly<Pick<ChangeRow, "realm" | "id">>;

export type ChangeEnd = ChangeTarget &
  Pick<Change, "state" | "effects"> &
  Partial<Pick<Change, "note">>;

export function createHistory(sql: Sql<StateTables>, sources: ClockAndRandom): History {
  const { db, write } = sql;
  const { clock } = sources;
  const begunBy = new Map<string, number>();
  return {
    begin: async (begun) => {
      const author = `${begun.realm} ${begun.key_print}`;
      const already = begunBy.get(author) ?? 0;
      if (already % checkedEach === 0) await dropSurplus(sql, begun);
      begunBy.set(author, already + 1);
      return write((inner) => insertChange(inner, begun, "begun", sources));
    },
    note: (change, ended) => write((inner) => noteEnd(inner, change, ended)),
    drop: async ({ realm, id }) => {
      const ofRealm = (inner: StateDb) => inner.deleteFrom("changes").where("realm", "=", realm);
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
    noteSuccessor: (realm, id, value) => {
      const saved = { kind: "successor", key: `${realm} ${id}`, value, at: clock.now() } as const;
      return write((inner) => saveValue(inner, saved));
    },
    findSuccessor: (realm, id) => findSuccessor(db, realm, id, clock.now()),
  };
}

export const historyLasts_ms = 30 * 24 * 60 * 60_000;
const mostOfKey = 10_000;
const mostCharactersOfKey = 64 * 1024 * 1024;
/** Small batches, so that other writes do not wait long. */
const mostAtOnce = 200;
/**
 * Limits are checked at only every 64th change of a key, because checking is slower than saving.
 */
const checkedEach = 64;

/** Deletes a batch of the key's oldest changes if their number or total size exceeds the limit. */
async function dropSurplus(
  { db, write }: Sql<StateTables>,
  { realm, key_print }: Pick<ChangeAuthor, "realm" | "key_print">,
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
    await changes.where("number", "in", numbers).execute();
  });
}

async function listOne(query: ReturnType<typeof selectOf>): Promise<Change | undefined> {
  const row = await query.limit(1).executeTakeFirst();
  return row && readChange(row);
}

async function noteEnd(db: StateDb, change: ChangeId, ended: Partial<ChangeEnd>): Promise<void> {
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

/** Inserts a change in the caller's transaction. A job's change is saved together with the job. */
export async function insertChange(
  db: StateDb,
  begun: StartedChange,
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
 * Shortens a string, because PostgreSQL rejects values over 2.7 KB in an index. A change is saved
 * before its request is sent, so the API has not yet rejected a path that is too long.
 */
function fitIndex(text: string): string {
  return text.slice(0, 500).toWellFormed();
}

/**
 * Marks the change that this change undoes. If the marked change was itself an undo, unmarks the
 * change that it had undone, and so on.
 */
async function markUndone(db: StateDb, { realm, id }: ChangeId): Promise<void> {
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

async function setOne(
  db: StateDb,
  { realm, id }: ChangeId,
  changed: { readonly [Column in keyof ChangeRow]?: ChangeRow[Column] | undefined },
): Promise<void> {
  const ofRealm = db.updateTable("changes").set(changed).where("realm", "=", realm);
  await ofRealm.where("id", "=", id).execute();
}

function selectOf(db: StateDb, { realm, key_print }: Readers, { target, kind }: ChangeFilter = {}) {
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

async function findSuccessor(db: StateDb, realm: string, id: string, now: number): Promise<string> {
  let current = id;
  for (let steps = 0; steps < mostSuccessors; steps += 1) {
    const found = await findValue(db, "successor", `${realm} ${current}`, now);
    if (found === undefined) break;
    current = found.value;
  }
  return current;
}

/** The maximum number of successor IDs to follow. */
const mostSuccessors = 1000;

function readChange({ number: _number, size: _size, effects, ...row }: ChangeRow): Change {
  // The cast is safe, because `insertChange` and `note` wrote this JSON.
  return { ...row, effects: JSON.parse(effects) as readonly Effect[] };
}
