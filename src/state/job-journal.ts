import type { Clock } from "../contract/clock.ts";
import type { JsonObject } from "../contract/json.ts";
import type { Sql } from "../sql/sql.ts";
import { renewLease, type Run } from "./job-leases.ts";
import { writeActions, readRow, type PlanRow } from "./plans.ts";
import type { Db, StateTables } from "./tables.ts";

/** What became of each row of a job: written down before its request leaves, and after. */

type Status = StateTables["job_rows"]["status"];

/** A row of the plan with what is known of its end; without a status nothing was begun. */
export type Receipt = {
  readonly planned: PlanRow;
  readonly status: Status | null;
  /** The link that was meant, or made. */
  readonly link_id: string | null;
  /** A new link as it was made: a field that differs later was changed by another caller. */
  readonly made: JsonObject | null;
  readonly message: string | null;
};

export type ReceiptPage = {
  readonly offset?: number;
  /** The rows from this position on. */
  readonly from?: number;
  /** The rows before this position, the last ones first. */
  readonly before?: number;
  readonly limit: number;
  /** Only rows whose end is not known, or those that did not end well. */
  readonly only?: keyof typeof kinds;
};

const kinds = { open: ["sent", "unknown"], failed: ["rejected", "unknown"] } as const;

export type RowEnd = {
  readonly status: "done" | "rejected" | "unknown";
  readonly link_id?: string | undefined;
  readonly made?: JsonObject | undefined;
  readonly message?: string | undefined;
};

export type Journal = {
  readonly listReceipts: (jobId: string, page: ReceiptPage) => Promise<readonly Receipt[]>;
  readonly countEnds: (jobId: string) => Promise<Readonly<Record<Status, number>>>;
  /**
   * Written before the request leaves: a row that stays so has an unknown end. False when nothing
   * may be sent any more: the job was cancelled, or another process runs it by now.
   */
  readonly noteSent: (run: Run, position: number) => Promise<boolean>;
  /** Writes nothing where another process runs the job by now: it has read back what we sent. */
  readonly noteEnd: (run: Run, position: number, end: RowEnd) => Promise<void>;
};

export function createJournal({ db, write }: Sql<StateTables>, clock: Pick<Clock, "now">): Journal {
  // A person's own calls go first, and the notes of rows that are on the way share their commits.
  const note = <Result>(work: (inner: Db) => Promise<Result>) => write(work, { isPatient: true });
  return {
    listReceipts: (jobId, page) => listReceipts(db, jobId, page),
    countEnds: (jobId) => countEnds(db, jobId),
    noteSent: (run, position) =>
      note(async (inner) => {
        if (!(await renewLease(inner, run, clock.now()))) return false;
        const row = { job_id: run.id, position, status: "sent", link_id: null } as const;
        await inner
          .insertInto("job_rows")
          .values({ ...row, message: null, made: null })
          .onConflict((conflict) =>
            conflict.columns(["job_id", "position"]).doUpdateSet({ status: "sent" }),
          )
          .execute();
        return true;
      }),
    noteEnd: (run, position, { status, link_id = null, message = null, made }) => {
      const end = { status, link_id, message, made: made ? JSON.stringify(made) : null };
      return note(async (inner) => {
        if (!(await isOwn(inner, run))) return;
        await inner
          .insertInto("job_rows")
          .values({ job_id: run.id, position, ...end })
          .onConflict((conflict) => conflict.columns(["job_id", "position"]).doUpdateSet(end))
          .execute();
      });
    },
  };
}

async function isOwn(db: Db, { id, runner }: Run): Promise<boolean> {
  const own = db.selectFrom("jobs").select("id").where("id", "=", id);
  return (await own.where("runner", "=", runner).executeTakeFirst()) !== undefined;
}

async function countEnds(db: Db, jobId: string): Promise<Record<Status, number>> {
  const counts = { sent: 0, done: 0, rejected: 0, unknown: 0 };
  const rows = await db
    .selectFrom("job_rows")
    .select((row) => ["status" as const, row.fn.countAll<number>().as("count")])
    .where("job_id", "=", jobId)
    .groupBy("status")
    .execute();
  for (const { status, count } of rows) counts[status] = count;
  return counts;
}

/** The rows of a job's plan that are to be done, from a position on, or back from one. */
async function listReceipts(
  db: Db,
  id: string,
  { offset = 0, from = 0, before, limit, only }: ReceiptPage,
): Promise<readonly Receipt[]> {
  let query = db
    .selectFrom("plan_rows as planned")
    .leftJoin("job_rows as ended", (join) =>
      join.onRef("ended.position", "=", "planned.position").on("ended.job_id", "=", id),
    )
    .selectAll("planned")
    .select(["ended.status", "ended.made", "ended.link_id as ended_id", "ended.message as said"])
    .where("planned.plan_id", "=", db.selectFrom("jobs").select("plan_id").where("id", "=", id))
    .where("planned.action", "in", [...writeActions])
    .where("planned.position", ">=", from)
    .orderBy("planned.position", before === undefined ? "asc" : "desc")
    .offset(offset)
    .limit(limit);
  if (before !== undefined) query = query.where("planned.position", "<", before);
  if (only !== undefined) {
    query = query.where((row) => {
      const ended = row("ended.status", "in", [...kinds[only]]);
      // A row without a status was not begun.
      return only === "open" ? row.or([row("ended.status", "is", null), ended]) : ended;
    });
  }
  return (await query.execute()).map(({ status, made, ended_id, said, ...row }) => ({
    planned: readRow(row),
    status,
    link_id: ended_id ?? row.link_id,
    // As `noteEnd` wrote it.
    made: made === null ? null : (JSON.parse(made) as JsonObject),
    message: said,
  }));
}
