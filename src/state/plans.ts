import { setImmediate as nextTurn } from "node:timers/promises";
import { sql as raw } from "kysely";
import type { ClockAndRandom } from "../contract/clock.ts";
import type { JsonObject } from "../contract/json.ts";
import type { Sql } from "../sql/sql.ts";
import { createPrefixedId, type StateDb, type StateTables } from "./tables.ts";

/** Stores plans of bulk changes, until they are applied or expire. */

export const planOperations = ["upsert", "update", "delete"] as const;
export type PlanOperation = (typeof planOperations)[number];
export type PlanAction = "create" | "update" | "unchanged" | "delete" | "conflict" | "invalid";

/** Actions that write. Rows with other actions are listed in a plan, but never applied. */
export const writeActions = ["create", "update", "delete"] as const;

export function countPlannedWrites(counts: Plan["counts"]): number {
  return writeActions.reduce((sum, action) => sum + counts[action], 0);
}

/**
 * Whether problems prevent the plan from being applied. On request, invalid rows are skipped.
 * Problems of the whole source are never skipped.
 */
export function isFaulty({
  counts,
  problems,
  request,
}: Pick<Plan, "counts" | "problems" | "request">): boolean {
  if (request.skips_invalid !== true) return counts.invalid + problems.length > 0;
  return problems.some(({ skipped }) => skipped !== true);
}

/** One row of a plan. Positions start at 0 and give the order of execution. */
export type PlanRow = {
  readonly position: number;
  /** The row number in the source, starting at 1; null without a source. */
  readonly row: number | null;
  readonly action: PlanAction;
  readonly link_id: string | null;
  readonly path: string | null;
  readonly fields: JsonObject | null;
  /** The link as it was when the plan was made. */
  readonly before: JsonObject | null;
  /** Why the row cannot be applied. */
  readonly message: string | null;
};

export type Plan = {
  readonly id: string;
  /** The hash of the key that created the plan. Other keys cannot see the plan. */
  readonly key_print: string;
  /** The URL of the server that the plan is for. */
  readonly origin: string;
  readonly operation: PlanOperation;
  /** The id of the job that this plan would undo. */
  readonly undoes: string | null;
  readonly counts: Readonly<Record<PlanAction, number>>;
  readonly problems: readonly PlanProblem[];
  readonly created_at: number;
  readonly expires_at: number;
  readonly request: PlanRequest;
};

export type PlanRequest = {
  /**
   * What the plan is about: the changed fields, such as "url to example.com", or the imported file,
   * such as "from links.csv".
   */
  readonly about?: string;
  readonly rules?: readonly PlanRule[];
  readonly skips_invalid?: true;
  /** The progress of the undone job when this plan was made. Rows applied later are not undone. */
  readonly undone?: { readonly done: number; readonly left: number };
  /** Known only after the last row of the source has been read. */
  readonly source?: PlanSource;
};

/** The format of an imported file, and the fields that were ignored. */
export type PlanSource = {
  readonly format: string | undefined;
  readonly unmapped: readonly {
    readonly field: string;
    readonly count: number;
    readonly example: string;
  }[];
  readonly warnings: readonly string[];
};

/** A change to one field of every link, based on the field's value. */
export type PlanRule = {
  readonly field: string;
  readonly kind: "host" | "start" | "text" | "query" | "prefix";
  /** The text to replace, or the name of a query parameter; empty for a prefix. */
  readonly from: string;
  readonly to: string;
};

export type PlanProblem = {
  /** The row in the source. Omitted for a problem that does not belong to a single row. */
  readonly row?: number;
  /** The link's path or ID, if the link was not read from a row of the source. */
  readonly link?: string;
  readonly field?: string;
  readonly message: string;
  readonly skipped?: true;
};

type NewPlan = Pick<Plan, "key_print" | "origin" | "operation" | "undoes" | "problems"> &
  Partial<Pick<Plan, "request">>;

export type Plans = {
  /** Saves a plan with its rows. Until the last row is saved, the plan is a draft. */
  readonly save: (plan: NewPlan, rows: AsyncIterable<PlanRow>) => Promise<Plan>;
  readonly find: (id: string) => Promise<Plan | undefined>;
  readonly listRows: (id: string, page: RowPage) => Promise<readonly PlanRow[]>;
  /** Deletes expired plans and old jobs, a limited number per call. */
  readonly removeEnded: () => Promise<void>;
};

export type RowPage = {
  readonly actions?: readonly PlanAction[];
  readonly from?: number;
  readonly offset?: number;
  readonly limit: number;
};

type WriteState = Sql<StateTables>["write"];

const lasts_ms = 60 * 60_000;
/** How long drafts are kept. A draft is left behind only if its process dies. */
const draftLasts_ms = 24 * lasts_ms;
/** How long an expired plan is kept, so that a call can report that the plan has expired. */
const expiredLasts_ms = lasts_ms;
/** How long a job can be resumed or undone. */
const jobsLast_ms = 30 * 24 * 60 * 60_000;
/** The maximum number of unapplied plans per key, to limit a key's use of storage. */
const mostIdle = 20;
/** The maximum number of expired plans, and of old jobs, that one call deletes. */
const mostDropped = 100;
/** Stored instead of the counts while a plan is a draft. */
export const draft = "";
/** Small batches, so that other writes do not wait long. */
const batchRows = 500;

export function createPlans(sql: Sql<StateTables>, { clock, random }: ClockAndRandom): Plans {
  const { db, write } = sql;
  return {
    save: async ({ request = {}, ...made }, rows) => {
      await dropSurplus(sql, made.key_print, clock.now());
      const begun = { id: createPrefixedId("plan", random), request, ...made };
      const startNow = (length_ms: number) => {
        const created_at = clock.now();
        return { created_at, expires_at: created_at + length_ms };
      };
      // The draft expires, so that its rows are deleted if the process dies while saving them.
      await write((inner) => savePlan(inner, { ...begun, ...startNow(draftLasts_ms) }));
      const counts = await insertRows(write, begun.id, rows).catch(async (error: unknown) => {
        await dropPlan(sql, begun.id, clock.now());
        throw error;
      });
      const plan = { ...begun, counts, ...startNow(lasts_ms) };
      await write((inner) => savePlan(inner, plan));
      return plan;
    },

    find: async (id) => {
      const row = await db
        .selectFrom("plans")
        .selectAll()
        .where("id", "=", id)
        .where("counts", "!=", draft)
        .executeTakeFirst();
      return row && readPlan(row);
    },

    removeEnded: () => dropEnded(sql, clock.now()),

    listRows: async (id, { actions, from = 0, offset = 0, limit }) => {
      let query = db
        .selectFrom("plan_rows")
        .selectAll()
        .where("plan_id", "=", id)
        .where("position", ">=", from)
        .orderBy("position")
        .offset(offset)
        .limit(limit);
      if (actions !== undefined) query = query.where("action", "in", [...actions]);
      return (await query.execute()).map(readRow);
    },
  };
}

/** Returns the number of inserted rows by action. */
async function insertRows(
  write: WriteState,
  plan_id: string,
  rows: AsyncIterable<PlanRow>,
): Promise<Plan["counts"]> {
  const counts = { create: 0, update: 0, unchanged: 0, delete: 0, conflict: 0, invalid: 0 };
  let batch: PlanRow[] = [];
  for await (const row of rows) {
    counts[row.action] += 1;
    batch.push(row);
    if (batch.length < batchRows) continue;
    await insertBatch(write, plan_id, batch);
    batch = [];
    // Let other work run. Rows that are already in memory never wait for I/O.
    await nextTurn();
  }
  await insertBatch(write, plan_id, batch);
  return counts;
}

async function insertBatch(
  write: WriteState,
  plan_id: string,
  rows: readonly PlanRow[],
): Promise<void> {
  if (rows.length === 0) return;
  const values = rows.map((row) => ({
    ...row,
    plan_id,
    fields: writeJson(row.fields),
    before: writeJson(row.before),
  }));
  await write((db) => db.insertInto("plan_rows").values(values).execute());
}

type PlanDraft = Omit<Plan, "counts"> & Partial<Pick<Plan, "counts">>;

async function savePlan(
  db: StateDb,
  { counts, problems, request, ...plan }: PlanDraft,
): Promise<void> {
  const row = {
    ...plan,
    counts: counts === undefined ? draft : JSON.stringify(counts),
    problems: JSON.stringify(problems),
    request: JSON.stringify(request),
  };
  const insert = db.insertInto("plans").values(row);
  await insert.onConflict((conflict) => conflict.column("id").doUpdateSet(row)).execute();
}

/** Deletes expired plans, old jobs and abandoned drafts. */
async function dropEnded(sql: Sql<StateTables>, now: number): Promise<void> {
  // Applying an expired plan fails with `plan_changed`, but with `not_found` once it is deleted.
  const forgotten_at = now - expiredLasts_ms;
  const ended = selectIdle(sql.db).where("expires_at", "<=", forgotten_at).orderBy("expires_at");
  const old = selectOldJobs(sql.db, now).select("plan_id as id").orderBy("updated_at");
  const plans = await ended.limit(mostDropped).execute();
  plans.push(...(await old.limit(mostDropped).execute()));
  for (const { id } of plans) await dropPlan(sql, id, now);
}

/** Deletes the key's oldest unapplied plans, so that one more can be saved. */
async function dropSurplus(sql: Sql<StateTables>, key_print: string, now: number): Promise<void> {
  const own = selectIdle(sql.db).where("key_print", "=", key_print).where("counts", "!=", draft);
  const newest = await own.orderBy("created_at", "desc").execute();
  for (const { id } of newest.slice(mostIdle - 1)) await dropPlan(sql, id, now);
}

function selectIdle(db: StateDb) {
  const applied = db.selectFrom("jobs").select("plan_id");
  return db.selectFrom("plans").select("id").where("id", "not in", applied);
}

function selectOldJobs(db: StateDb, now: number) {
  const old = db.selectFrom("jobs").where("updated_at", "<=", now - jobsLast_ms);
  return old.where("runs_until", "<=", now);
}

/** Deletes a plan with its old job. A plan whose job has been opened or resumed is kept. */
async function dropPlan({ write }: Sql<StateTables>, id: string, now: number): Promise<void> {
  const isDropped = await write(async (db) => {
    const old = selectOldJobs(db, now).select("id").where("plan_id", "=", id);
    await db.deleteFrom("jobs").where("id", "in", old).execute();
    const applied = db.selectFrom("jobs").select("id").where("plan_id", "=", id);
    // An expired draft cannot be applied. If the process dies now, a later call deletes it.
    const drop = db.updateTable("plans").set({ counts: draft, expires_at: 0 }).where("id", "=", id);
    const unapplied = drop.where((plan) => plan.not(plan.exists(applied)));
    const { numUpdatedRows } = await unapplied.executeTakeFirst();
    return numUpdatedRows > 0n;
  });
  if (!isDropped) return;
  for (let count = batchRows; count === batchRows;) {
    const { numAffectedRows = 0n } = await write((db) =>
      raw`delete from plan_rows where plan_id = ${id} and "position" <= (
        select max("position") from (
          select "position" from plan_rows where plan_id = ${id}
          order by "position" limit ${batchRows}
        ) as batch
      )`.execute(db),
    );
    count = Number(numAffectedRows);
    await nextTurn();
  }
  await write((db) => db.deleteFrom("plans").where("id", "=", id).execute());
}

export function readPlan(stored: StateTables["plans"]): Plan {
  const { counts, problems, operation, request, ...rest } = stored;
  // The casts are safe, because `savePlan` wrote this JSON.
  return {
    ...rest,
    request: JSON.parse(request) as PlanRequest,
    operation: operation as PlanOperation,
    counts: JSON.parse(counts) as Plan["counts"],
    problems: JSON.parse(problems) as Plan["problems"],
  };
}

export function readRow(stored: StateTables["plan_rows"]): PlanRow {
  const { position, row, action, link_id, path, fields, before, message } = stored;
  return {
    position,
    row,
    link_id,
    path,
    message,
    action: action as PlanAction,
    fields: fields === null ? null : (JSON.parse(fields) as JsonObject),
    before: before === null ? null : (JSON.parse(before) as JsonObject),
  };
}

function writeJson(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}
