import type { ClockAndRandom } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import { insertChange, type ChangeAuthor } from "./history.ts";
import { createPrefixedId, type StateDb, type StateTables, type StoredJob } from "./tables.ts";
import { countEnds, createJobRuns, isLeased, type JobRuns } from "./job-runs.ts";
import { countPlannedWrites, draft, readPlan, type Plan } from "./plans.ts";

/** Stores jobs. A job applies the rows of a plan. */

export type Job = Readonly<
  Pick<StoredJob, "id" | "plan_id" | "key_print" | "message" | "created_at" | "updated_at">
> &
  Pick<Plan, "operation" | "undoes" | "request"> & {
    /** An `interrupted` job can be resumed, because no process is running it. */
    readonly state: "running" | "interrupted" | "done" | "cancelled";
    readonly planned: Plan["counts"];
    readonly counts: JobCounts;
    /** True while a process has the lease. Even a cancelled job may then have pending requests. */
    readonly isHeld: boolean;
  };

export type JobCounts = {
  readonly done: number;
  readonly rejected: number;
  readonly unknown: number;
  readonly left: number;
};

/** Who started a job, and with which tool or command. */
export type JobWriter = ChangeAuthor & { readonly tool: string };

/** A job's author, and the job's name in the history. */
type NamedWriter = JobWriter & { readonly name: string };

export type Jobs = JobRuns & {
  /** Returns the plan's job. The first call creates it, together with its change in the history. */
  readonly open: (plan: Plan, writer?: NamedWriter, keyId?: string) => Promise<Job>;
  readonly find: (id: string) => Promise<Job | undefined>;
  readonly findOfPlan: (planId: string) => Promise<Job | undefined>;
  readonly list: (keyPrint: string, from: number, limit: number) => Promise<readonly Job[]>;
  readonly count: (keyPrint: string) => Promise<number>;
  /** Lists the keys that have running or interrupted jobs. */
  readonly listUnfinished: () => Promise<readonly string[]>;
  /** Lists jobs to resume after a restart: recently active ones that are not finished. */
  readonly listResumable: () => Promise<
    readonly { readonly id: string; readonly key_id: string }[]
  >;
};

/** A job is resumed after a restart only if it was active this recently. */
const resumedFor_ms = 10 * 60_000;

export function createJobs(sql: Sql<StateTables>, sources: ClockAndRandom): Jobs {
  const { now } = sources.clock;
  const { db, write } = sql;
  const findBy = async (column: "id" | "plan_id", value: string) => {
    const row = await db
      .selectFrom("jobs")
      .selectAll()
      .where(column, "=", value)
      .executeTakeFirst();
    return row && describeJob(db, row, now());
  };

  return {
    ...createJobRuns(sql, sources.clock),
    open: async (plan, writer, keyId) => {
      await write((inner) => openJob(inner, plan, { writer, keyId }, sources));
      const row = await db
        .selectFrom("jobs")
        .selectAll()
        .where("plan_id", "=", plan.id)
        .executeTakeFirstOrThrow();
      return describeJob(db, row, now());
    },
    find: (id) => findBy("id", id),
    findOfPlan: (planId) => findBy("plan_id", planId),
    list: async (keyPrint, from, limit) => {
      const own = db.selectFrom("jobs").selectAll().where("key_print", "=", keyPrint);
      const newest = own.orderBy("created_at", "desc").orderBy("number", "desc");
      const rows = await newest.offset(from).limit(limit).execute();
      return Promise.all(rows.map((row) => describeJob(db, row, now())));
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
      const open = db.selectFrom("jobs").where("state", "=", "open");
      const rows = await open.select("key_print").distinct().execute();
      return rows.map(({ key_print }) => key_print);
    },
    listResumable: async () => {
      const open = db.selectFrom("jobs").select(["id", "key_id"]).where("state", "=", "open");
      const recent = await open.where("updated_at", ">", now() - resumedFor_ms).execute();
      return recent.flatMap(({ id, key_id }) => (key_id === null ? [] : [{ id, key_id }]));
    },
  };
}

type Opener = { readonly writer: NamedWriter | undefined; readonly keyId: string | undefined };

async function openJob(
  db: StateDb,
  plan: Plan,
  { writer, keyId }: Opener,
  sources: ClockAndRandom,
): Promise<void> {
  const plans = db.selectFrom("plans").select("id").where("id", "=", plan.id);
  // Throws if the plan has been deleted, or is being deleted.
  await plans.where("counts", "!=", draft).executeTakeFirstOrThrow();
  const id = createPrefixedId("job", sources.random);
  const now = sources.clock.now();
  const own = { id, plan_id: plan.id, key_print: plan.key_print };
  const whose = { key_id: keyId ?? null, realm: writer?.realm ?? null };
  const begun = { state: "open", message: null, runner: null, runs_until: 0 } as const;
  const opened = await db
    .insertInto("jobs")
    .values({ ...own, ...whose, ...begun, created_at: now, updated_at: now })
    // If another process has just created the plan's job, this process uses that job.
    .onConflict((conflict) => conflict.column("plan_id").doNothing())
    .executeTakeFirst();
  if (writer === undefined || opened.numInsertedOrUpdatedRows !== 1n) return;
  // Undoing a job marks that job's change in the history as undone.
  const undone = await db
    .selectFrom("changes")
    .select("id")
    .where((row) => row.and({ realm: writer.realm, target_id: plan.undoes }))
    .executeTakeFirst();
  const change = { ...writer, kind: "job", target_id: id, target_key: null, effects: [] };
  await insertChange(db, { ...change, undoes: undone?.id }, "done", sources);
}

async function describeJob(
  db: StateDb,
  { number: _number, key_id: _keyId, realm: _realm, runner, runs_until, ...row }: StoredJob,
  now: number,
): Promise<Job> {
  const isHeld = isLeased({ runner, runs_until }, now);
  const plans = db.selectFrom("plans").selectAll().where("id", "=", row.plan_id);
  const plan = readPlan(await plans.executeTakeFirstOrThrow());
  const { operation, undoes, request, counts: planned } = plan;
  const { sent, done, rejected, ...ended } = await countEnds(db, row.plan_id);
  // If the process that ran the job has died, the results of sent rows are unknown.
  const unknown = ended.unknown + (isHeld ? 0 : sent);
  const left = countPlannedWrites(planned) - done - rejected - unknown;
  const counts = { done, rejected, unknown, left };
  const openState = isHeld ? "running" : "interrupted";
  const state = row.state === "open" ? openState : row.state;
  return { ...row, state, operation, undoes, request, planned, counts, isHeld };
}
