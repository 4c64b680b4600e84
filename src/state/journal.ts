import type { Kysely } from "kysely";
import type { Clock } from "../contract/clock.ts";
import type { JsonObject } from "../contract/json.ts";
import type { Sql } from "../sql/sql.ts";
import { keepLease, type Run } from "./leases.ts";
import { acts, readRow, type PlanRow } from "./plans.ts";
import type { StateTables } from "./tables.ts";

/** What became of each row of a job: written down before its request leaves, and after. */

type Db = Kysely<StateTables>;
type Status = StateTables["job_rows"]["status"];

/** A row of the plan with what is known of its end; without a status nothing was begun. */
export type Receipt = {
  readonly planned: PlanRow;
  readonly status: Status | null;
  /** The link that was meant, or made. */
  readonly link_id: string | null;
  /** A new link as it was made: what is otherwise later is somebody's work. */
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
   * Written before the request leaves: whoever finds it later does not know how it ended. False
   * when nothing may be sent any more: the job was cancelled, or is somebody else's by now.
   */
  readonly noteSent: (run: Run, position: number) => Promise<boolean>;
  /** Somebody else's job is left as it is: they have read back what we sent. */
  readonly noteEnd: (run: Run, position: number, end: RowEnd) => Promise<void>;
};

export function createJournal({ db, write }: Sql<StateTables>, clock: Pick<Clock, "now">): Journal {
  const note = gather(write);
  return {
    listReceipts: (jobId, page) => listReceipts(db, jobId, page),
    countEnds: (jobId) => countEnds(db, jobId),
    noteSent: (run, position) =>
      note(async (inner) => {
        if (!(await keepLease(inner, run, clock.now()))) return false;
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

type Note = {
  readonly work: (db: Db) => Promise<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
};

/** A commit costs more than a row, so what is noted while one is under way goes into the next. */
function gather(
  write: Sql<StateTables>["write"],
): <Result>(work: (db: Db) => Promise<Result>) => Promise<Result> {
  let waiting: Note[] = [];
  let isWriting = false;

  async function writeAll(): Promise<void> {
    if (isWriting) return;
    isWriting = true;
    while (waiting.length > 0) {
      const notes = waiting;
      waiting = [];
      try {
        const results = await write((db) => inTurn(notes, ({ work }) => work(db)));
        for (const [index, { resolve }] of notes.entries()) resolve(results[index]);
      } catch (error) {
        for (const { reject } of notes) reject(error);
      }
    }
    isWriting = false;
  }

  return <Result>(work: (db: Db) => Promise<Result>) =>
    new Promise<Result>((resolve, reject) => {
      // What a note's work answers is what its own promise is resolved with.
      waiting.push({ work, resolve: resolve as Note["resolve"], reject });
      void writeAll();
    });
}

async function inTurn<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}

async function isOwn(db: Db, { id, runner }: Run): Promise<boolean> {
  const [own] = await db
    .selectFrom("jobs")
    .select("id")
    .where("id", "=", id)
    .where("runner", "=", runner)
    .execute();
  return own !== undefined;
}

async function countEnds(db: Db, jobId: string): Promise<Record<Status, number>> {
  const ended = await db
    .selectFrom("job_rows")
    .select((row) => ["status" as const, row.fn.countAll<number>().as("count")])
    .where("job_id", "=", jobId)
    .groupBy("status")
    .execute();
  const count = (status: Status) => ended.find((row) => row.status === status)?.count ?? 0;
  return {
    sent: count("sent"),
    done: count("done"),
    rejected: count("rejected"),
    unknown: count("unknown"),
  };
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
    .where("planned.action", "in", [...acts])
    .where("planned.position", ">=", from)
    .orderBy("planned.position", before === undefined ? "asc" : "desc")
    .offset(offset)
    .limit(limit);
  if (before !== undefined) query = query.where("planned.position", "<", before);
  if (only !== undefined) {
    query = query.where((row) => {
      const ended = row("ended.status", "in", [...kinds[only]]);
      // Nothing was begun with those that have none.
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
