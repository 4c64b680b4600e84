import { unaskedOverwrites } from "../contract/approval-rules.ts";
import type { Clock } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import type { Db, StateTables } from "./tables.ts";

/**
 * How often something was done within a window of time, over all processes of the folder or
 * database. Each use is a row until its window has passed, so no window of that length, whenever it
 * begins, has more uses than the limit.
 */
export type Counters = {
  /** Counts a use of each. When one has reached its limit, counts none and returns undefined. */
  readonly take: (subjects: Partial<Record<CounterName, string>>) => Promise<Use | undefined>;
  /** How many uses are left and, when none is, when the next one is free. */
  readonly readLeft: (
    name: CounterName,
    subject: string,
  ) => Promise<{ readonly left: number; readonly free_at: number | undefined }>;
  /** A place in a line whose uses wait until the limit allows them. */
  readonly queue: (line: Line) => Place;
};

/** A use that was given back does not count. */
type Use = { readonly giveBack: () => Promise<void> };
type Line = { readonly kind: string; readonly subject: string; readonly window_ms: number };

type Place = {
  /** How long the use has to wait. Places are taken in the order in which they were asked for. */
  readonly readWait_ms: (most: number) => Promise<number>;
  /** A use that happened counts from now on, because a remote server counted it some time ago. */
  readonly leave: (isUsed: boolean) => Promise<void>;
};

const hour_ms = 60 * 60_000;
export const longestWindow_ms = hour_ms;

const limits = {
  /** Per key. Many single overwrites must not be a way around the approval of a plan. */
  overwrite: { most: unaskedOverwrites.most, window_ms: unaskedOverwrites.window_ms },
  /** Per approval of more overwrites. */
  approved_overwrite: { most: unaskedOverwrites.granted, window_ms: unaskedOverwrites.window_ms },
  pin_of_approval: { most: 5, window_ms: hour_ms },
  /** Each new approval has new tries, so the tries of all approvals of a key are limited too. */
  pin_of_key: { most: 20, window_ms: hour_ms },
  /** Per address. A wrong API key leaves the tries of the PIN, and the other way round. */
  sign_in_by_key: { most: 20, window_ms: hour_ms },
  sign_in_by_pin: { most: 20, window_ms: hour_ms },
  /** Requests to hosts that a key names. */
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

function queue(write: Sql<StateTables>["write"], line: Line, now: Clock["now"]): Place {
  const { kind, subject, window_ms } = line;
  let id: number | undefined;
  return {
    readWait_ms: async (most) => {
      const placed = await write(async (db) => {
        const time = now();
        // A place further ahead was taken before the clock was set back.
        await deleteOld(db, line, time, time + Math.max(2 * window_ms, 60_000));
        const at = await findFree(db, line, most, time, id);
        return { id: await writePlace(db, { kind, subject, at }, id), wait_ms: at - time };
      });
      // The id of a write that was not committed may belong to another place by now.
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
  db: Db,
  line: Line,
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

function selectNewest(db: Db, { kind, subject, window_ms }: Line, now: number) {
  return db
    .selectFrom("uses")
    .select("at")
    .where((row) => row.and({ kind, subject }))
    .where("at", ">", now - window_ms)
    .orderBy("at", "desc");
}

/** When the next use fits into the limit: now, or later. For a place, earlier places count. */
async function findFree(
  db: Db,
  line: Line,
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

async function writePlace(
  db: Db,
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
