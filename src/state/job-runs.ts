import { mostSkew_ms, type Clock } from "../contract/clock.ts";
import type { JsonObject } from "../contract/json.ts";
import { refuseNul } from "../sql/engine.ts";
import type { Sql } from "../sql/sql.ts";
import { insertNotice } from "./expiring-values.ts";
import { readRow, writeActions, type PlanRow } from "./plans.ts";
import type { StateDb, StateTables, StoredJob } from "./tables.ts";

/**
 * Runs jobs. Only the process with the lease runs a job, and it must keep renewing the lease. The
 * status of each row is saved before and after its request.
 */

export type Run = { readonly id: string; readonly runner: string };
type RunEnd = "done" | "interrupted";

export type JobRuns = {
  /**
   * Claims a job with a lease. Returns false if another process has the lease, or the job is
   * cancelled or finished.
   */
  readonly take: (run: Run) => Promise<boolean>;
  /** Renews the lease. Returns false if the job was cancelled, or another process has the lease. */
  readonly renew: (run: Run) => Promise<boolean>;
  /** Ends the run. The message explains an interruption. An interrupted job can be resumed. */
  readonly release: (run: Run, end: RunEnd, message?: string) => Promise<void>;
  /** Cancels a job, even one that another process runs. No more rows are sent. */
  readonly cancel: (id: string) => Promise<void>;
  /** Makes a cancelled job resumable. */
  readonly revive: (id: string) => Promise<void>;
  /**
   * Marks a row as sent, before its request is sent. If the process then dies, the row's result is
   * unknown. Returns false if the job was cancelled or another process runs it.
   */
  readonly noteSent: (run: Run, position: number) => Promise<boolean>;
  /**
   * Saves a row's result, unless another process now runs the job. The other process determines the
   * result itself.
   */
  readonly noteEnd: (run: Run, position: number, end: RowEnd) => Promise<void>;
  /** Lists rows with actions that write, from a position onward or before a position. */
  readonly listReceipts: (
    job: { readonly id: string },
    page: ReceiptPage,
  ) => Promise<readonly Receipt[]>;
};

/** The time after which a process that has not renewed its lease is considered dead. */
export const lease_ms = 10_000;

export function createJobRuns(
  { db: reading, write }: Sql<StateTables>,
  { now }: Pick<Clock, "now">,
): JobRuns {
  const note = shareWrites((run, rows) =>
    write((db) => writeRows(db, run, rows(), now()), { isPatient: true }),
  );
  return {
    take: (run) => write((db) => take(db, run, now())),
    renew: async (run) => (await write((db) => renewLease(db, run, now())))?.state === "open",
    release: (run, end, message) =>
      write((db) => release(db, run, { end, message: message ?? null, now: now() })),
    cancel: (id) =>
      write(async (db) => {
        const updated_at = now();
        const ended = db.updateTable("jobs").set({ state: "cancelled", updated_at });
        const open = ended.where("id", "=", id).where("state", "!=", "done");
        const job = await open.returning(["id", "realm", "state"]).executeTakeFirst();
        if (job === undefined) return;
        await noteInHistory(db, job, "The job was cancelled.");
        await noteEnd(db, job, updated_at);
      }),
    revive: (id) =>
      write(async (db) => {
        const revived = db.updateTable("jobs").set({ state: "open", updated_at: now() });
        const cancelled = revived.where("id", "=", id).where("state", "=", "cancelled");
        const job = await cancelled.returning(["id", "realm"]).executeTakeFirst();
        if (job !== undefined) await noteInHistory(db, job, null);
      }),
    noteSent: (run, position) =>
      note(run, { position, status: "sent", result_id: null, result: null, made: null }),
    noteEnd: async (run, position, end) => {
      const { status, link_id: result_id = null, message: result = null } = end;
      // PostgreSQL cannot store a NUL, and would reject the other rows of the transaction too.
      refuseNul([result_id, result]);
      const made = end.made === undefined ? null : JSON.stringify(end.made);
      await note(run, { position, status, result_id, result, made });
    },
    listReceipts: ({ id }, page) => listReceipts(reading, id, page),
  };
}

/**
 * Whether a process has the lease. Ignores a lease that ends too late, because it was written
 * before a clock was set back.
 */
export function isLeased(
  { runner, runs_until }: Pick<StoredJob, "runner" | "runs_until">,
  now: number,
): boolean {
  return runner !== null && now < runs_until && runs_until <= now + lease_ms + mostSkew_ms;
}

async function take(db: StateDb, { id, runner }: Run, now: number): Promise<boolean> {
  const jobs = db.selectFrom("jobs").select(["runner", "runs_until"]).where("id", "=", id);
  const lease = await jobs.executeTakeFirst();
  if (lease === undefined || isLeased(lease, now)) return false;
  const { numUpdatedRows } = await db
    .updateTable("jobs")
    .set({ message: null, runner, runs_until: now + lease_ms, updated_at: now })
    .where((row) => row.and({ id, state: "open" }))
    // Another process may have claimed the job since the lease was read.
    .where("runs_until", "=", lease.runs_until)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/**
 * Renews the lease. Returns undefined if another process has it. The lease of a cancelled job is
 * renewed until all sent rows have a result.
 */
async function renewLease(
  db: StateDb,
  { id, runner }: Run,
  now: number,
): Promise<Pick<StoredJob, "plan_id" | "state"> | undefined> {
  return db
    .updateTable("jobs")
    .set({ runs_until: now + lease_ms, updated_at: now })
    .where((row) => row.and({ id, runner }))
    .returning(["plan_id", "state"])
    .executeTakeFirst();
}

type Release = { readonly end: RunEnd; readonly message: string | null; readonly now: number };

async function release(db: StateDb, { id, runner }: Run, released: Release): Promise<void> {
  const { end, message, now } = released;
  const freed = { message, runner: null, runs_until: 0, updated_at: now };
  const jobs = db.updateTable("jobs").set(freed).where("id", "=", id);
  const { numUpdatedRows } = await jobs.where("runner", "=", runner).executeTakeFirst();
  if (end !== "done" || numUpdatedRows !== 1n) return;
  // If the job was cancelled while its last row was being sent, it stays cancelled.
  const done = db.updateTable("jobs").set({ state: "done" }).where("id", "=", id);
  const open = done.where("state", "=", "open").returning(["id", "realm", "state"]);
  const job = await open.executeTakeFirst();
  if (job !== undefined) await noteEnd(db, job, now);
}

async function noteInHistory(
  db: StateDb,
  { id, realm }: Pick<StoredJob, "id" | "realm">,
  note: string | null,
): Promise<void> {
  if (realm === null) return;
  const change = db.updateTable("changes").set({ note }).where("realm", "=", realm);
  await change.where("kind", "=", "job").where("target_id", "=", id).execute();
}

/**
 * Queues a webhook event. The job's counts are added when the event is delivered, because sent rows
 * may not have a result yet.
 */
async function noteEnd(
  db: StateDb,
  { id, realm, state }: Pick<StoredJob, "id" | "realm" | "state">,
  at: number,
): Promise<void> {
  if (realm === null) return;
  await insertNotice(db, { realm, event: "job.finished", subject: id, data: { id }, at }, state);
}

type Status = NonNullable<StateTables["plan_rows"]["status"]>;

/** A row of the plan and its result. The status is null until the row is sent. */
export type Receipt = PlanRow & {
  readonly status: Status | null;
  /**
   * The writable fields of the written link, as the server returned them. Undo compares them with
   * the current link.
   */
  readonly made: JsonObject | null;
};

export type ReceiptPage = {
  readonly offset?: number;
  readonly from?: number;
  /** Selects rows before this position, in descending order. */
  readonly before?: number;
  readonly limit: number;
  /** Selects only rows without a known result, or only failed rows. */
  readonly only?: keyof typeof kinds;
};

const kinds = { open: ["sent", "unknown"], failed: ["rejected", "unknown"] } as const;

export type RowEnd = {
  readonly status: "done" | "rejected" | "unknown";
  readonly link_id?: string | undefined;
  readonly made?: JsonObject | undefined;
  readonly message?: string | undefined;
};

type ResultRow = Pick<
  StateTables["plan_rows"],
  "position" | "status" | "result_id" | "result" | "made"
>;

type WaitingRow = {
  readonly row: ResultRow;
  readonly resolve: (isRunning: boolean) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Writes all waiting rows of a run in one transaction, in order. Separate transactions would block
 * each other, because each one renews the lease.
 */
function shareWrites(
  write: (run: Run, takeRows: () => readonly ResultRow[]) => Promise<boolean>,
): (run: Run, row: ResultRow) => Promise<boolean> {
  /** The rows of each run that are not yet in a transaction. */
  const waiting = new Map<string, WaitingRow[]>();

  async function writeWaiting(run: Run, name: string): Promise<void> {
    let taken: readonly WaitingRow[] | undefined;
    // Takes the rows that are waiting when the transaction first starts. A retry takes the same
    // rows.
    const take = () => {
      if (taken !== undefined) return taken;
      taken = waiting.get(name) ?? [];
      waiting.delete(name);
      return taken;
    };
    try {
      const isRunning = await write(run, () => take().map(({ row }) => row));
      for (const { resolve } of take()) resolve(isRunning);
    } catch (error) {
      for (const { reject } of take()) reject(error);
    }
  }

  return (run, row) =>
    new Promise((resolve, reject) => {
      const name = `${run.id} ${run.runner}`;
      const others = waiting.get(name);
      waiting.set(name, [...(others ?? []), { row, resolve, reject }]);
      if (others === undefined) void writeWaiting(run, name);
    });
}

async function writeRows(
  db: StateDb,
  run: Run,
  all: readonly ResultRow[],
  now: number,
): Promise<boolean> {
  const job = await renewLease(db, run, now);
  if (job === undefined) return false;
  const isRunning = job.state === "open";
  for (const { position, ...result } of all) {
    // After a cancellation, results are still saved, but no more rows may be sent.
    if (!isRunning && result.status === "sent") continue;
    const rows = db.updateTable("plan_rows").set(result).where("plan_id", "=", job.plan_id);
    await rows.where("position", "=", position).execute();
  }
  return isRunning;
}

export async function countEnds(db: StateDb, planId: string): Promise<Record<Status, number>> {
  const counts = { sent: 0, done: 0, rejected: 0, unknown: 0 };
  const rows = await db
    .selectFrom("plan_rows")
    .select((row) => ["status" as const, row.fn.countAll<number>().as("count")])
    .where("plan_id", "=", planId)
    .where("status", "is not", null)
    .groupBy("status")
    .execute();
  for (const { status, count } of rows) if (status !== null) counts[status] = count;
  return counts;
}

async function listReceipts(
  db: StateDb,
  id: string,
  { offset = 0, from = 0, before, limit, only }: ReceiptPage,
): Promise<readonly Receipt[]> {
  const jobs = db.selectFrom("jobs").select("plan_id").where("id", "=", id);
  const job = await jobs.executeTakeFirst();
  if (job === undefined) return [];
  let query = db
    .selectFrom("plan_rows")
    .selectAll()
    .where("plan_id", "=", job.plan_id)
    .where("action", "in", [...writeActions])
    .where("position", ">=", from)
    .orderBy("position", before === undefined ? "asc" : "desc")
    .offset(offset)
    .limit(limit);
  if (before !== undefined) query = query.where("position", "<", before);
  if (only !== undefined) {
    query = query.where((row) => {
      const ended = row("status", "in", [...kinds[only]]);
      // Rows without a status were not sent.
      return only === "open" ? row.or([row("status", "is", null), ended]) : ended;
    });
  }
  return (await query.execute()).map((row) => ({
    ...readRow(row),
    status: row.status,
    link_id: row.result_id ?? row.link_id,
    // The cast is safe, because `noteEnd` wrote this JSON from an object.
    made: row.made === null ? null : (JSON.parse(row.made) as JsonObject),
    message: row.result,
  }));
}
