import type { Clock } from "../contract/clock.ts";
import type { JsonObject } from "../contract/json.ts";
import type { Sql } from "../sql/sql.ts";
import { createJobNotes, type JobNotes } from "./job-notes.ts";
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

export type Journal = JobNotes & {
  readonly listReceipts: (jobId: string, page: ReceiptPage) => Promise<readonly Receipt[]>;
  readonly countEnds: (planId: string) => Promise<Readonly<Record<Status, number>>>;
};

export function createJournal(sql: Sql<StateTables>, clock: Pick<Clock, "now">): Journal {
  const { db } = sql;
  return {
    ...createJobNotes(sql, clock),
    listReceipts: (jobId, page) => listReceipts(db, jobId, page),
    countEnds: (planId) => countEnds(db, planId),
  };
}

async function countEnds(db: Db, planId: string): Promise<Record<Status, number>> {
  const counts = { sent: 0, done: 0, rejected: 0, unknown: 0 };
  const rows = await db
    .selectFrom("job_rows")
    .select((row) => ["status" as const, row.fn.countAll<number>().as("count")])
    .where("plan_id", "=", planId)
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
  // First, and by itself: jobs may be on another machine than the rows of their plans.
  const job = await db.selectFrom("jobs").select("plan_id").where("id", "=", id).executeTakeFirst();
  if (job === undefined) return [];
  let query = db
    .selectFrom("plan_rows as planned")
    .leftJoin("job_rows as ended", (join) =>
      join
        .onRef("ended.plan_id", "=", "planned.plan_id")
        .onRef("ended.position", "=", "planned.position"),
    )
    .selectAll("planned")
    .select(["ended.status", "ended.made", "ended.link_id as ended_id", "ended.message as said"])
    .where("planned.plan_id", "=", job.plan_id)
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
