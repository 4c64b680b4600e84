import { unapprovedOverwrites } from "../contract/limits.ts";
import type { Clock } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import type { StateDb, StateTables } from "./tables.ts";

/**
 * Rate limits that all processes share. Each use is stored for the length of the window, so that no
 * period of this length contains more uses than the limit.
 */
export type Counters = {
  /**
   * Counts one use against each limit. If a limit is reached, counts nothing and returns undefined.
   */
  readonly take: (
    subjects: Partial<Record<CounterName, string>>,
  ) => Promise<CountedUse | undefined>;
  /** Returns how many uses are left and, if none are, when the next one is allowed. */
  readonly readLeft: (
    name: CounterName,
    subject: string,
  ) => Promise<{ readonly left: number; readonly free_at: number | undefined }>;
  /** Adds a use to a queue, where it waits until the limit allows it. */
  readonly queue: (line: UseLine) => QueuedUse;
};

type CountedUse = { readonly giveBack: () => Promise<void> };
type UseLine = { readonly kind: string; readonly subject: string; readonly window_ms: number };

type QueuedUse = {
  /** Returns how long the use must still wait. Uses are allowed in queue order. */
  readonly readWait_ms: (most: number) => Promise<number>;
  /**
   * Leaves the queue. If the request was sent, its use gets the current time, because the remote
   * server may have counted it as late as now.
   */
  readonly leave: (isUsed: boolean) => Promise<void>;
};

const hour_ms = 60 * 60_000;
export const longestWindow_ms = hour_ms;

const limits = {
  /** Counted per key, so that many single overwrites cannot replace a plan that needs approval. */
  overwrite: { most: unapprovedOverwrites.most, window_ms: unapprovedOverwrites.window_ms },
  /** Counted per approval. Each approval allows this many additional overwrites. */
  approved_overwrite: {
    most: unapprovedOverwrites.granted,
    window_ms: unapprovedOverwrites.window_ms,
  },
  pin_of_approval: { most: 5, window_ms: hour_ms },
  /** Counted per key, because each new approval allows new attempts to guess the PIN. */
  pin_of_key: { most: 20, window_ms: hour_ms },
  /** Counted per IP address. Signing in with an API key and with the PIN have separate limits. */
  sign_in_by_key: { most: 20, window_ms: hour_ms },
  sign_in_by_pin: { most: 20, window_ms: hour_ms },
  /** Counted per key. Applies to requests to hosts that are named in a call's arguments. */
  host_request: { most: 1000, window_ms: hour_ms },
} as const satisfies Record<string, { readonly most: number; readonly window_ms: number }>;
type CounterName = keyof typeof limits;

export function createCounters(
  { db, write }: Sql<StateTables>,
  { now }: Pick<Clock, "now">,
): Counters {
  return {
    take: (subjects) =>
      write(async (inner) => {
        const at = now();
        const names = Object.keys(subjects) as CounterName[];
        const uses = names.map((kind) => ({
          kind,
          subject: subjects[kind] ?? "",
          ...limits[kind],
        }));
        for (const { most, ...line } of uses) {
          await deleteOld(inner, line, at);
          if ((await findFree(inner, line, most, at)) > at) return undefined;
        }
        const rows = uses.map(({ kind, subject }) => ({ kind, subject, at }));
        const taken = await inner.insertInto("uses").values(rows).returning("id").execute();
        const ids = taken.map(({ id }) => id);
        return {
          giveBack: async () => {
            await write((own) => own.deleteFrom("uses").where("id", "in", ids).execute());
          },
        };
      }),

    readLeft: async (kind, subject) => {
      const { most, window_ms } = limits[kind];
      const line = { kind, subject, window_ms };
      const newest = await selectNewest(db, line, now()).limit(most).execute();
      const first = newest[most - 1];
      return { left: most - newest.length, free_at: first && first.at + window_ms };
    },

    queue: (line) => queue(write, line, now),
  };
}

function queue(write: Sql<StateTables>["write"], line: UseLine, now: Clock["now"]): QueuedUse {
  const { kind, subject, window_ms } = line;
  let id: number | undefined;
  return {
    readWait_ms: async (most) => {
      const placed = await write(async (db) => {
        const time = now();
        // Also delete entries dated too far in the future, from before a clock was set back.
        await deleteOld(db, line, time, time + Math.max(2 * window_ms, 60_000));
        const at = await findFree(db, line, most, time, id);
        return { id: await writeQueuedUse(db, { kind, subject, at }, id), wait_ms: at - time };
      });
      // Set only after the commit, because a rollback lets another use get the same ID.
      ({ id } = placed);
      return placed.wait_ms;
    },
    leave: async (isUsed) => {
      if (id === undefined) return;
      const place = id;
      await write(async (db) => {
        const used = db.updateTable("uses").set({ at: now() }).where("id", "=", place);
        const unused = db.deleteFrom("uses").where("id", "=", place);
        await (isUsed ? used : unused).execute();
      });
    },
  };
}

async function deleteOld(
  db: StateDb,
  line: UseLine,
  now: number,
  latest = Number.MAX_SAFE_INTEGER,
): Promise<void> {
  const { kind, subject, window_ms } = line;
  await db
    .deleteFrom("uses")
    .where((row) => row.and({ kind, subject }))
    .where((row) => row.or([row("at", "<=", now - window_ms), row("at", ">", latest)]))
    .execute();
}

function selectNewest(db: StateDb, { kind, subject, window_ms }: UseLine, now: number) {
  return db
    .selectFrom("uses")
    .select("at")
    .where((row) => row.and({ kind, subject }))
    .where("at", ">", now - window_ms)
    .orderBy("at", "desc");
}

/** Returns when the next use is allowed. A queued use waits only for uses with lower IDs. */
async function findFree(
  db: StateDb,
  line: UseLine,
  most: number,
  now: number,
  id?: number,
): Promise<number> {
  let newest = selectNewest(db, line, now)
    .offset(most - 1)
    .limit(1);
  if (id !== undefined) newest = newest.where("id", "<", id);
  const first = await newest.executeTakeFirst();
  return first === undefined ? now : Math.max(now, first.at + line.window_ms);
}

async function writeQueuedUse(
  db: StateDb,
  place: Omit<StateTables["uses"], "id">,
  id: number | undefined,
): Promise<number> {
  const written = await db
    .insertInto("uses")
    .values({ ...place, ...(id !== undefined && { id }) })
    .onConflict((conflict) => conflict.column("id").doUpdateSet({ at: place.at }))
    .returning("id")
    .executeTakeFirstOrThrow();
  return written.id;
}
