import { createHash } from "node:crypto";
import { unapprovedOverwrites } from "../contract/limits.ts";
import { mostSkew_ms, type Clock, type ClockAndRandom } from "../contract/clock.ts";
import type { WebhookEvent } from "../contract/webhook-events.ts";
import type { JsonObject } from "../contract/json.ts";
import type { Sql } from "../sql/sql.ts";
import { createPrefixedId, type StateDb, type StateTables } from "./tables.ts";

/** Stores expiring values, each identified by a kind and a key. All processes share them. */
export type ExpiringValues = {
  /** Saves a value. If its kind has a limit per owner, deletes the owner's oldest values. */
  readonly save: <K extends ValueKind>(
    kind: K,
    key: string,
    value: ValueTypes[K],
    options?: { readonly owner?: string; readonly at?: number },
  ) => Promise<void>;
  readonly find: <K extends ValueKind>(
    kind: K,
    key: string,
  ) => Promise<ExpiringValue<K> | undefined>;
  /** Finds and deletes a value. Only one of several concurrent callers gets it. */
  readonly take: <K extends ValueKind>(
    kind: K,
    key: string,
  ) => Promise<ExpiringValue<K> | undefined>;
  /** Restarts the lifetime of a value, unless it has already expired. */
  readonly renew: (kind: ValueKind, key: string) => Promise<void>;
  /** Lists an owner's values, oldest first. */
  readonly list: <K extends ValueKind>(
    kind: K,
    owner?: string,
  ) => Promise<readonly ListedValue<K>[]>;
  readonly remove: (kind: ValueKind, keys: readonly string[]) => Promise<void>;
};

type ValueTypes = {
  /** Encrypted, as is the next value. Only the browser or the terminal can decrypt them. */
  console_session: string;
  console_address: string;
  preview: string;
  export_page: { readonly type: string; readonly text: string };
  /**
   * Set if a client claims to support forms but does not show them. Not kept in memory, because
   * each stdio session is a new process.
   */
  hidden_form: true;
  overwrite_grant: true;
  /** What is known about a key's access to a remote server (see `mcp/access`). */
  known_access: JsonObject;
  notice: Notice;
  /** The id of the record that replaced a deleted one. */
  successor: string;
};
type ValueKind = keyof ValueTypes;

/**
 * A webhook event about a job or an approval, saved in the database of that job or approval. The
 * webhooks may be in another database. The process that delivers events moves this event to the
 * outbox there, with the same ID.
 */
export type Notice = {
  /** The project, or the URL of a remote server that does not report its project. */
  readonly realm: string;
  readonly event: Extract<WebhookEvent, "job.finished" | "approval.waiting">;
  readonly subject: string;
  readonly data: JsonObject;
  readonly at: number;
};

export type ExpiringValue<K extends ValueKind> = {
  readonly value: ValueTypes[K];
  readonly saved_at: number;
};
type ListedValue<K extends ValueKind> = { readonly key: string; readonly value: ValueTypes[K] };

const minute_ms = 60_000;
const day_ms = 24 * 60 * minute_ms;

const lasts_ms: Readonly<Record<ValueKind, number>> = {
  console_session: 12 * 60 * minute_ms,
  console_address: 10 * minute_ms,
  preview: 10 * minute_ms,
  export_page: 60 * minute_ms,
  hidden_form: day_ms,
  overwrite_grant: unapprovedOverwrites.window_ms,
  known_access: day_ms,
  // If no webhooks are set up, notices are never moved to the outbox, and stay until they expire.
  notice: 7 * day_ms,
  successor: 30 * day_ms,
};

/**
 * The maximum number of values per owner, so that one key cannot fill the disk. An export counts as
 * one value, because all its pages are saved with the same time.
 */
const mostOfOwner: Partial<Record<ValueKind, number>> = {
  preview: 100,
  export_page: 10,
  hidden_form: 100,
};

const mostListed = 100;

export function createExpiringValues(
  { db, write }: Sql<StateTables>,
  { now }: Pick<Clock, "now">,
): ExpiringValues {
  return {
    save: (kind, key, value, { owner = "", at = now() } = {}) =>
      write(async (inner) => {
        await saveValue(inner, { kind, key, value, owner, at });
        const most = mostOfOwner[kind];
        if (most !== undefined) await dropOldest(inner, kind, owner, most);
      }),
    find: (kind, key) => findValue(db, kind, key, now()),
    take: (kind, key) =>
      write(async (inner) => {
        const found = await findValue(inner, kind, key, now());
        const { numDeletedRows } = await deleteOf(inner, kind, [key]).executeTakeFirst();
        return numDeletedRows === 1n ? found : undefined;
      }),
    renew: async (kind, key) => {
      const time = now();
      const renewed = { expires_at: time + lasts_ms[kind] };
      await write((inner) =>
        inner
          .updateTable("kept_values")
          .set(renewed)
          .where((row) => row.and({ kind, key }))
          .where("expires_at", ">", time)
          .execute(),
      );
    },
    list: async <K extends ValueKind>(kind: K, owner = "") => {
      const rows = await db
        .selectFrom("kept_values")
        .select(["key", "value"])
        .where((row) => row.and({ kind, owner }))
        .where("expires_at", ">", now())
        .orderBy("expires_at")
        .limit(mostListed)
        .execute();
      return rows.map(({ key, value }) => ({ key, value: JSON.parse(value) as ValueTypes[K] }));
    },
    remove: async (kind, keys) => {
      if (keys.length === 0) return;
      await write((inner) => deleteOf(inner, kind, keys).execute(), { isPatient: true });
    },
  };
}

type SavedValue<K extends ValueKind> = {
  readonly kind: K;
  readonly key: string;
  readonly value: ValueTypes[K];
  readonly owner?: string;
  readonly at: number;
};

export async function saveValue<K extends ValueKind>(
  db: StateDb,
  { kind, key, value, owner = "", at }: SavedValue<K>,
): Promise<void> {
  const row = { value: JSON.stringify(value), owner, expires_at: at + lasts_ms[kind] };
  await db
    .insertInto("kept_values")
    .values({ kind, key, ...row })
    .onConflict((conflict) => conflict.columns(["kind", "key"]).doUpdateSet(row))
    .execute();
}

export async function findValue<K extends ValueKind>(
  db: StateDb,
  kind: K,
  key: string,
  now: number,
): Promise<ExpiringValue<K> | undefined> {
  const row = await db
    .selectFrom("kept_values")
    .select(["value", "expires_at"])
    .where((row) => row.and({ kind, key }))
    .where("expires_at", ">", now)
    // Ignore a value that expires too late, because it was saved before a clock was set back.
    .where("expires_at", "<=", now + lasts_ms[kind] + mostSkew_ms)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  // The cast is safe, because `saveValue` wrote this JSON from a value of this kind.
  const value = JSON.parse(row.value) as ValueTypes[K];
  return { value, saved_at: row.expires_at - lasts_ms[kind] };
}

function deleteOf(db: StateDb, kind: ValueKind, keys: readonly string[]) {
  return db
    .deleteFrom("kept_values")
    .where("kind", "=", kind)
    .where("key", "in", [...keys]);
}

async function dropOldest(
  db: StateDb,
  kind: ValueKind,
  owner: string,
  most: number,
): Promise<void> {
  const own = db
    .selectFrom("kept_values")
    .select("expires_at")
    .distinct()
    .where("kind", "=", kind)
    .where("owner", "=", owner);
  const newest = own.orderBy("expires_at", "desc").offset(most).limit(1);
  const surplus = db.deleteFrom("kept_values").where("kind", "=", kind).where("owner", "=", owner);
  await surplus.where("expires_at", "<=", newest).execute();
}

/** Queues a webhook event. Replaces a queued event with the same name, subject and `end`. */
export async function insertNotice(db: StateDb, notice: Notice, end: string): Promise<void> {
  const key = `evt_${digestNotice([notice.event, notice.subject, end])}`;
  await saveValue(db, { kind: "notice", key, value: notice, at: notice.at });
}

/**
 * Hashes an event's key, because it may contain an approval's ID, which opens the approval page.
 */
export function digestNotice(words: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(words)).digest("base64url").slice(0, 27);
}

/** Saves exported links in pages, which an assistant can read for an hour. */
export async function saveExportPages(
  openKept: () => Promise<ExpiringValues>,
  { type, texts }: { readonly type: string; readonly texts: AsyncIterable<string> },
  owner: string,
  { clock, random }: ClockAndRandom,
) {
  const id = createPrefixedId("export", random);
  const at = clock.now();
  const keys: string[] = [];
  let kept: ExpiringValues | undefined;
  try {
    for await (const text of texts) {
      // Open the state only after reading the first page. Reading fails if the key may not read
      // links.
      kept ??= await openKept();
      const key = writeKey(owner, id, keys.length + 1);
      keys.push(key);
      await kept.save("export_page", key, { type, text }, { owner, at });
    }
  } catch (error) {
    await kept?.remove("export_page", keys);
    throw error;
  }
  return { id, pages: keys.length };
}

export async function findExportPage(
  kept: ExpiringValues,
  owner: string,
  id: string,
  page: number,
) {
  return (await kept.find("export_page", writeKey(owner, id, page)))?.value;
}

function writeKey(owner: string, id: string, page: number): string {
  return `${owner} ${id} ${page}`;
}
