import { createHash } from "node:crypto";
import { unaskedOverwrites } from "../contract/approval-rules.ts";
import { mostSkew_ms } from "../contract/clock-skew.ts";
import type { Clock } from "../contract/clock.ts";
import type { WebhookEvent } from "../contract/webhook-events.ts";
import type { JsonObject } from "../contract/json.ts";
import type { Sql } from "../sql/sql.ts";
import type { Db, StateTables } from "./tables.ts";

/** Values that all processes share and forget after a while, each found by its kind and a key. */
export type KeptValues = {
  /** Also drops the oldest values of the owner, when the kind limits how many one may have. */
  readonly save: <K extends Kind>(
    kind: K,
    key: string,
    value: Kinds[K],
    options?: { readonly owner?: string; readonly at?: number },
  ) => Promise<void>;
  readonly find: <K extends Kind>(kind: K, key: string) => Promise<Kept<K> | undefined>;
  /** The same, and removes it: only one of several callers gets it, in whichever process. */
  readonly take: <K extends Kind>(kind: K, key: string) => Promise<Kept<K> | undefined>;
  /** It lasts as long as a new one. One that has ended stays ended. */
  readonly renew: (kind: Kind, key: string) => Promise<void>;
  /** An owner's values, the oldest first. */
  readonly list: <K extends Kind>(kind: K, owner?: string) => Promise<readonly Listed<K>[]>;
  readonly remove: (kind: Kind, keys: readonly string[]) => Promise<void>;
};

/** What each kind holds. */
type Kinds = {
  /** Sealed by a token that only a browser or a terminal has. */
  console_session: string;
  console_address: string;
  /** HTML of a page that a person may look at. */
  preview: string;
  export_page: { readonly type: string; readonly text: string };
  /** A client that declares forms and does not show them: each stdio session is a new process. */
  hidden_form: true;
  overwrite_grant: true;
  /** What is known of a key's access to a tool of a remote server (mcp/access). */
  known_access: JsonObject;
  /** What webhooks are still to be sent. */
  notice: Notice;
  /** The id of what was restored in place of a deleted record. */
  successor: string;
  /** When the newest change began that a project's history dropped for room. */
  history_gap: number;
};
type Kind = keyof Kinds;

/**
 * What webhooks are sent about a job or an approval. It is written in their transaction, which may
 * be in another file than the webhooks. The process that delivers takes it over under the same id.
 */
export type Notice = {
  /** The project, as the history has it. */
  readonly realm: string;
  readonly event: Extract<WebhookEvent, "job.finished" | "approval.waiting">;
  readonly subject: string;
  readonly data: JsonObject;
  readonly at: number;
};

export type Kept<K extends Kind> = { readonly value: Kinds[K]; readonly saved_at: number };
type Listed<K extends Kind> = { readonly key: string; readonly value: Kinds[K] };

const minute_ms = 60_000;
const day_ms = 24 * 60 * minute_ms;

const lasts_ms: Readonly<Record<Kind, number>> = {
  console_session: 12 * 60 * minute_ms,
  console_address: 10 * minute_ms,
  preview: 10 * minute_ms,
  export_page: 60 * minute_ms,
  hidden_form: day_ms,
  overwrite_grant: unaskedOverwrites.window_ms,
  known_access: day_ms,
  // Without webhooks, no process takes them.
  notice: 7 * day_ms,
  successor: 30 * day_ms,
  history_gap: 30 * day_ms,
};

/** So that a key cannot fill the disk. Pages of one export were saved at the same time. */
const mostOfOwner: Partial<Record<Kind, number>> = {
  preview: 100,
  export_page: 10,
  hidden_form: 100,
};

const mostListed = 100;

export function createKeptValues(
  { db, write }: Sql<StateTables>,
  { now }: Pick<Clock, "now">,
): KeptValues {
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
    list: async <K extends Kind>(kind: K, owner = "") => {
      const rows = await db
        .selectFrom("kept_values")
        .select(["key", "value"])
        .where((row) => row.and({ kind, owner }))
        .where("expires_at", ">", now())
        .orderBy("expires_at")
        .limit(mostListed)
        .execute();
      return rows.map(({ key, value }) => ({ key, value: JSON.parse(value) as Kinds[K] }));
    },
    remove: async (kind, keys) => {
      if (keys.length === 0) return;
      await write((inner) => deleteOf(inner, kind, keys).execute(), { isPatient: true });
    },
  };
}

type Saved<K extends Kind> = {
  readonly kind: K;
  readonly key: string;
  readonly value: Kinds[K];
  readonly owner?: string;
  readonly at: number;
};

/** In the transaction of what it belongs to. */
export async function saveValue<K extends Kind>(
  db: Db,
  { kind, key, value, owner = "", at }: Saved<K>,
): Promise<void> {
  const row = { value: JSON.stringify(value), owner, expires_at: at + lasts_ms[kind] };
  await db
    .insertInto("kept_values")
    .values({ kind, key, ...row })
    .onConflict((conflict) => conflict.columns(["kind", "key"]).doUpdateSet(row))
    .execute();
}

export async function findValue<K extends Kind>(
  db: Db,
  kind: K,
  key: string,
  now: number,
): Promise<Kept<K> | undefined> {
  const row = await db
    .selectFrom("kept_values")
    .select(["value", "expires_at"])
    .where((row) => row.and({ kind, key }))
    .where("expires_at", ">", now)
    // One that would last longer than a new one was saved before the clock was set back.
    .where("expires_at", "<=", now + lasts_ms[kind] + mostSkew_ms)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  // The value was written as JSON of this kind.
  const value = JSON.parse(row.value) as Kinds[K];
  return { value, saved_at: row.expires_at - lasts_ms[kind] };
}

function deleteOf(db: Db, kind: Kind, keys: readonly string[]) {
  return db
    .deleteFrom("kept_values")
    .where("kind", "=", kind)
    .where("key", "in", [...keys]);
}

async function dropOldest(db: Db, kind: Kind, owner: string, most: number): Promise<void> {
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

/** The same end of the same job or approval has one notice. */
export async function insertNotice(db: Db, notice: Notice, end: string): Promise<void> {
  const key = `evt_${digestNotice([notice.event, notice.subject, end])}`;
  await saveValue(db, { kind: "notice", key, value: notice, at: notice.at });
}

/** Does not reveal the words: an approval's id is the address of its page. */
export function digestNotice(words: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(words)).digest("base64url").slice(0, 27);
}
