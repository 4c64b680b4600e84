import { sql as raw } from "kysely";
import type { ClockAndRandom } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import { createPrefixedId } from "./create-id.ts";
import { insertChange, type Writer } from "./history.ts";
import { createJournal, type Journal, type Receipt, type ReceiptPage } from "./job-journal.ts";
import { createLeases, isLeaseOver, type Leases } from "./job-leases.ts";
import { countPlannedWrites, readPlan, type Plan } from "./plans.ts";
import type { Db, StateTables } from "./tables.ts";

/** Plans that are being applied. */

type JobRow = Pick<StateTables["jobs"], (typeof jobColumns)[number]>;

export type Job = Readonly<Pick<JobRow, "id" | "plan_id" | "key_print" | "state" | "message">> &
  Pick<Plan, "operation" | "undoes" | "request"> & {
    /** What the plan has to do, by kind. */
    readonly planned: Plan["counts"];
    readonly counts: JobCounts;
    readonly created_at: number;
    readonly updated_at: number;
    /** Whether rows of it may be on the way, even where it was cancelled. */
    readonly isHeld: boolean;
  };

/** A job that a start resumes, and the key that it calls with: see the tables. */
type ResumableJob = { readonly id: string; readonly key_id: string };

export type JobCounts = {
  readonly done: number;
  readonly rejected: number;
  readonly unknown: number;
  readonly left: number;
};

/** Who begins a job, and by which tool or command. */
export type JobWriter = Writer & { readonly tool: string };

/** The name says in the history what the job does. */
type NamedWriter = JobWriter & { readonly name: string };

export type Jobs = Leases &
  Pick<Journal, "noteSent" | "noteEnd"> & {
    /** The plan's one job, made when there is none yet; then it is a change of its writer. */
    readonly open: (plan: Plan, writer?: NamedWriter, keyId?: string) => Promise<Job>;
    readonly find: (id: string) => Promise<Job | undefined>;
    readonly findOfPlan: (planId: string) => Promise<Job | undefined>;
    readonly list: (keyPrint: string, from: number, limit: number) => Promise<readonly Job[]>;
    readonly count: (keyPrint: string) => Promise<number>;
    /** The keys that have jobs which are running, or were interrupted. */
    readonly listUnfinished: () => Promise<readonly string[]>;
    /** Those that were interrupted a short time ago, or run in a process that may have died. */
    readonly listResumable: () => Promise<readonly ResumableJob[]>;
    readonly listReceipts: (job: Pick<Job, "id">, page: ReceiptPage) => Promise<readonly Receipt[]>;
  };

export function createJobs(sql: Sql<StateTables>, given: ClockAndRandom): Jobs {
  const { clock, random } = given;
  const { db, write } = sql;
  const journal = createJournal(sql, clock);
  const describe = async (rows: readonly JobRow[]) =>
    Promise.all(rows.map((row) => describeJob(db, row, journal, clock.now())));
  const find = async (column: "id" | "plan_id", value: string) => {
    const [job] = await describe(await selectJobs(db).where(column, "=", value).execute());
    return job;
  };

  return {
    ...createLeases(sql, clock),
    noteSent: journal.noteSent,
    noteEnd: journal.noteEnd,
    listReceipts: ({ id }, page) => journal.listReceipts(id, page),

    open: async (plan, writer, key_id) => {
      const { id: plan_id, key_print } = plan;
      const now = clock.now();
      const begun = { state: "interrupted", message: null, runner: null, runs_until: 0 } as const;
      const times = { created_at: now, updated_at: now };
      const whose = { key_id: key_id ?? null, realm: writer?.realm ?? null };
      await write(async (inner) => {
        const plans = inner.selectFrom("plans").select("id").where("id", "=", plan_id);
        // A plan that was deleted meanwhile leaves no job behind.
        await plans.executeTakeFirstOrThrow();
        const id = createPrefixedId("job", random);
        const { numInsertedOrUpdatedRows } = await inner
          .insertInto("jobs")
          .values({ id, plan_id, key_print, ...whose, ...begun, ...times })
          // Of two processes that open it at once, the first one's job stays.
          .onConflict((conflict) => conflict.column("plan_id").doNothing())
          .executeTakeFirst();
        if (writer === undefined || numInsertedOrUpdatedRows !== 1n) return;
        await noteJob(inner, id, plan, writer, given);
      });
      const row = await selectJobs(db).where("plan_id", "=", plan_id).executeTakeFirstOrThrow();
      return describeJob(db, row, journal, now);
    },
    find: (id) => find("id", id),
    findOfPlan: (planId) => find("plan_id", planId),
    list: async (keyPrint, from, limit) => {
      const own = selectJobs(db).where("key_print", "=", keyPrint);
      // Of one moment, the one that was made last: the engine numbers the rows as they come.
      const newest = own.orderBy("created_at", "desc").orderBy(raw`rowid`, "desc");
      return describe(await newest.offset(from).limit(limit).execute());
    },
    count: async (keyPrint) => {
      const { count } = await db
        .selectFrom("jobs")
        .select((row) => row.fn.countAll<number>().as("count"))
        .where("key_print", "=", keyPrint)
        .executeTakeFirstOrThrow();
      return count;
    },
    listUnfinished: async () => {
      const unfinished = db.selectFrom("jobs").where("state", "in", ["running", "interrupted"]);
      const rows = await unfinished.select("key_print").distinct().execute();
      return rows.map(({ key_print }) => key_print);
    },
    listResumable: () => listResumable(db, clock.now()),
  };
}

/** A start resumes jobs that were interrupted within this time. */
const resumedFor_ms = 10 * 60_000;

async function listResumable(db: Db, now: number): Promise<readonly ResumableJob[]> {
  const jobs = await db
    .selectFrom("jobs")
    .select(["id", "key_id"])
    .where("state", "in", ["running", "interrupted"])
    .where("updated_at", ">", now - resumedFor_ms)
    .execute();
  return jobs.flatMap(({ id, key_id }) => (key_id === null ? [] : [{ id, key_id }]));
}

/** A job is one change, whatever its rows are; what undoes it is a job as well. */
async function noteJob(
  db: Db,
  id: string,
  { undoes }: Plan,
  writer: NamedWriter,
  given: ClockAndRandom,
): Promise<void> {
  const ofRealm = db.selectFrom("changes").select("id").where("realm", "=", writer.realm);
  const undone = ofRealm.where("target_id", "=", undoes);
  const target = { kind: "job", target_id: id, target_key: null };
  const begun = { ...writer, ...target, effects: [] };
  const undoneId = (await undone.executeTakeFirst())?.id;
  await insertChange(db, { ...begun, undoes: undoneId }, "done", given);
}

async function describeJob(db: Db, row: JobRow, journal: Journal, now: number): Promise<Job> {
  const { runner, runs_until, ...rest } = row;
  const isHeld = runner !== null && !isLeaseOver(runs_until, now);
  const isLost = row.state === "running" && !isHeld;
  const plans = db.selectFrom("plans").selectAll().where("id", "=", row.plan_id);
  const plan = readPlan(await plans.executeTakeFirstOrThrow());
  const { operation, undoes, request, counts: planned } = plan;
  const { sent, done, rejected, ...ended } = await journal.countEnds(row.plan_id);
  // The end of what was on the way when its runner died is unknown.
  const unknown = ended.unknown + (isHeld ? 0 : sent);
  const counts = {
    done,
    rejected,
    unknown,
    left: countPlannedWrites(planned) - done - rejected - unknown,
  };
  const state = isLost ? "interrupted" : row.state;
  return { ...rest, state, operation, undoes, request, planned, counts, isHeld };
}

/** Each but its number, by which jobs are sorted alone, and what is about the history. */
const jobColumns = [
  "id",
  "plan_id",
  "key_print",
  "state",
  "message",
  "runner",
  "runs_until",
  "created_at",
  "updated_at",
] as const;

function selectJobs(db: Db) {
  return db.selectFrom("jobs").select(jobColumns);
}
