import { expressionBuilder, sql as raw } from "kysely";
import type { Clock } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import { mostSkew_ms } from "../contract/clock-skew.ts";
import { insertNotice } from "./notices.ts";
import type { Db, StateTables } from "./tables.ts";

/** Which process runs a job: one at a time, for as long as it renews its lease. */

type JobRow = StateTables["jobs"];

/** A job and the run of it that one process has begun. */
export type Run = { readonly id: string; readonly runner: string };

export type Leases = {
  /**
   * Makes the runner its only one, until the lease is over; false while another one's lease lasts,
   * and where the job was cancelled.
   */
  readonly take: (run: Run) => Promise<boolean>;
  /** Lengthens the lease; false when the job was cancelled, or another runner has it by now. */
  readonly renew: (run: Run) => Promise<boolean>;
  readonly release: (run: Run, state: JobRow["state"], message?: string) => Promise<void>;
  /** Nothing more of it will begin, not even in a process that already waits for it. */
  readonly cancel: (id: string) => Promise<void>;
  /** Makes a cancelled one ready to be taken again. */
  readonly revive: (id: string) => Promise<void>;
};

/** A runner that has not renewed its lease for so long is taken for dead. */
export const lease_ms = 10_000;

export function createLeases({ write }: Sql<StateTables>, clock: Pick<Clock, "now">): Leases {
  return {
    take: (run) => write((db) => take(db, run, clock.now())),
    renew: async (run) => (await write((db) => renewLease(db, run, clock.now()))) !== undefined,
    release: (run, state, message) =>
      write((db) => release(db, run, { state, message: message ?? null, now: clock.now() })),
    cancel: (id) =>
      write(async (db) => {
        const updated_at = clock.now();
        const ended = db.updateTable("jobs").set({ state: "cancelled", updated_at });
        const which = ended.where("id", "=", id).where("state", "!=", "done");
        const job = await which.returning(["id", "realm", "state"]).executeTakeFirst();
        if (job === undefined) return;
        await noteInHistory(db, job, "The job was cancelled.");
        await tellOfEnd(db, job, updated_at);
      }),
    revive: (id) =>
      write(async (db) => {
        const updated_at = clock.now();
        const ready = db.updateTable("jobs").set({ state: "interrupted", updated_at });
        const which = ready.where("id", "=", id).where("state", "=", "cancelled");
        const job = await which.returning(["id", "realm"]).executeTakeFirst();
        if (job !== undefined) await noteInHistory(db, job, null);
      }),
  };
}

/** A job is one change of the history, whatever becomes of it. */
async function noteInHistory(
  db: Db,
  { id, realm }: Pick<JobRow, "id" | "realm">,
  note: string | null,
): Promise<void> {
  if (realm === null) return;
  const change = db.updateTable("changes").set({ note }).where("realm", "=", realm);
  await change.where("kind", "=", "job").where("target_id", "=", id).execute();
}

async function take(db: Db, { id, runner }: Run, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("jobs")
    .set({ state: "running", message: null, runner, runs_until: now + lease_ms, updated_at: now })
    .where("id", "=", id)
    .where("state", "in", ["running", "interrupted"])
    .where((row) => row.or([row("runner", "is", null), isOver(now)]))
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** What lies further ahead than a lease was written before the clock was set back. */
function isOver(now: number) {
  const row = expressionBuilder<StateTables, "jobs">();
  return row.or([
    row("runs_until", "<=", now),
    row("runs_until", ">", now + lease_ms + mostSkew_ms),
  ]);
}

/** The same, of a row that was read. */
export function isLeaseOver(runs_until: number, now: number): boolean {
  return runs_until <= now || runs_until > now + lease_ms + mostSkew_ms;
}

type Ended = Pick<JobRow, "state" | "message"> & { readonly now: number };

async function release(db: Db, { id, runner }: Run, { state, message, now }: Ended): Promise<void> {
  const job = await db
    .updateTable("jobs")
    .set((row) => ({
      // It may have been cancelled while its last row was on the way.
      state: row
        .case()
        .when("state", "=", "cancelled")
        .then(raw<JobRow["state"]>`'cancelled'`)
        .else(raw<JobRow["state"]>`${state}`)
        .end(),
      message,
      runner: null,
      runs_until: 0,
      updated_at: now,
    }))
    .where("id", "=", id)
    .where("runner", "=", runner)
    .returning(["id", "realm", "state"])
    .executeTakeFirst();
  if (job?.state === "done") await tellOfEnd(db, job, now);
}

/** Notes that a job has ended, for webhooks; its counts are read when no row is on the way. */
async function tellOfEnd(
  db: Db,
  { id, realm, state }: Pick<JobRow, "id" | "realm" | "state">,
  at: number,
): Promise<void> {
  if (realm === null) return;
  await insertNotice(db, { realm, event: "job.finished", subject: id, data: { id }, at }, state);
}

/**
 * Answers the plan that the job applies; undefined where the runner may not go on with it. One that
 * was cancelled is its runner's until the rows on the way have ended: it is not lost meanwhile.
 */
export async function renewLease(
  db: Db,
  { id, runner }: Run,
  now: number,
): Promise<string | undefined> {
  const renewed = await db
    .updateTable("jobs")
    .set({ runs_until: now + lease_ms, updated_at: now })
    .where("id", "=", id)
    .where("runner", "=", runner)
    .where("state", "in", ["running", "cancelled"])
    .returning(["plan_id", "state"])
    .executeTakeFirst();
  return renewed?.state === "running" ? renewed.plan_id : undefined;
}
