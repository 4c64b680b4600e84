import { setImmediate as nextTurn } from "node:timers/promises";
import { sql as raw } from "kysely";
import type { ClockAndRandom } from "../contract/clock.ts";
import type { JsonObject } from "../contract/json.ts";
import type { Sql } from "../sql/sql.ts";
import { createPrefixedId } from "./ids.ts";
import type { Db, StateTables } from "./tables.ts";

/** What bulk changes would do, until they are applied or too old. */

export const planOperations = ["upsert", "update", "delete"] as const;
export type PlanOperation = (typeof planOperations)[number];
export type PlanAction = "create" | "update" | "unchanged" | "delete" | "conflict" | "invalid";

/** The actions that write; a plan's other rows are only reported. */
export const writeActions = ["create", "update", "delete"] as const;

/** How many links a plan would write. */
export function countPlannedWrites(counts: Plan["counts"]): number {
  return writeActions.reduce((sum, action) => sum + counts[action], 0);
}

/**
 * Whether something is wrong with the plan, so that none of it can be applied. Faulty rows may be
 * left out where that was asked for; what is wrong with the whole source may not.
 */
export function isFaulty({
  counts,
  problems,
  request,
}: Pick<Plan, "counts" | "problems" | "request">): boolean {
  if (request.skips_invalid !== true) return counts.invalid + problems.length > 0;
  return problems.some(({ skipped }) => skipped !== true);
}

/** One row of a plan; rows are numbered from 0 in the order in which they will be done. */
export type PlanRow = {
  readonly position: number;
  /** Where it stands in what was given, counted from 1; null where nothing was. */
  readonly row: number | null;
  readonly action: PlanAction;
  readonly link_id: string | null;
  readonly path: string | null;
  /** What will be sent. */
  readonly fields: JsonObject | null;
  /** The link as it was read. */
  readonly before: JsonObject | null;
  /** Why it cannot be done. */
  readonly message: string | null;
};

export type Plan = {
  readonly id: string;
  /** The key that made it: no other key may see it. */
  readonly key_print: string;
  /** The deployment that it was made for. */
  readonly origin: string;
  readonly operation: PlanOperation;
  /** The job that it would undo. */
  readonly undoes: string | null;
  readonly counts: Readonly<Record<PlanAction, number>>;
  readonly problems: readonly PlanProblem[];
  readonly created_at: number;
  readonly expires_at: number;
  readonly request: PlanRequest;
};

/** What was asked for, as far as the rows do not tell it. */
export type PlanRequest = {
  /** What is said of it before and after the number of its links: "set url on", "17 links". */
  readonly words?: { readonly before: string; readonly after?: string };
  readonly rules?: readonly PlanRule[];
  /** Whether faulty rows are left out, and do not keep the others from being done. */
  readonly skips_invalid?: true;
  /** How far the job was that is undone: what it did later, the rows do not put back. */
  readonly undone?: { readonly done: number; readonly left: number };
  /** What was found of the rows that are not ours; it is known when the last one was read. */
  readonly source?: PlanSource;
};

/** Whose export the rows come from, and what of them was not taken over. */
type PlanSource = {
  readonly format: string | undefined;
  readonly unmapped: readonly {
    readonly field: string;
    readonly count: number;
    readonly example: string;
  }[];
  readonly warnings: readonly string[];
};

/** What is done to a field of every link, and to each in its own way. */
export type PlanRule = {
  readonly field: string;
  readonly kind: "host" | "text" | "query" | "prefix";
  /** What is replaced; of a query the parameter, and of a prefix nothing. */
  readonly from: string;
  readonly to: string;
};

export type PlanProblem = {
  /** Left out where the whole source is meant, and of links that filters name. */
  readonly row?: number;
  /** The link by its path, or its id, where no row of the source names it. */
  readonly link?: string;
  readonly field?: string;
  readonly message: string;
  /** Of a row that is left out, and keeps no other from being done. */
  readonly skipped?: true;
};

type NewPlan = Pick<Plan, "key_print" | "origin" | "operation" | "undoes" | "problems"> &
  Partial<Pick<Plan, "request">>;

export type Plans = {
  /** Saves a plan whose rows come one after another; until the last one is there, it is a draft. */
  readonly save: (plan: NewPlan, rows: AsyncIterable<PlanRow>) => Promise<Plan>;
  readonly find: (id: string) => Promise<Plan | undefined>;
  readonly listRows: (id: string, page: RowPage) => Promise<readonly PlanRow[]>;
};

export type RowPage = {
  readonly actions?: readonly PlanAction[];
  /** The rows from this position on. */
  readonly from?: number;
  /** Of these rows so many are passed over. */
  readonly offset?: number;
  readonly limit: number;
};

type Write = Sql<StateTables>["write"];

/** A person may think about a plan for this long. */
const lasts_ms = 60 * 60_000;
/** Longer than the slowest server takes to be read. Only a killed process leaves a draft. */
const draftLasts_ms = 24 * lasts_ms;
/** A job can be resumed or undone for this long. */
const jobsLast_ms = 30 * 24 * 60 * 60_000;
/** Plans of one key that were not applied: a key that only plans must not fill the disk. */
const mostIdle = 20;
/** In place of a plan's counts, until they are known. */
const draft = "";
/** Other writers need not wait long for so many rows. */
const batchRows = 500;

export function createPlans(sql: Sql<StateTables>, { clock, random }: ClockAndRandom): Plans {
  const { db, write } = sql;
  return {
    save: async ({ request = {}, ...made }, rows) => {
      await dropOld(sql, made.key_print, clock.now());
      const begun = { id: createPrefixedId("plan", random), request, ...made };
      const startNow = (length_ms: number) => {
        const created_at = clock.now();
        return { created_at, expires_at: created_at + length_ms };
      };
      // The rows of a plan that is never finished are found by this draft, and deleted with it.
      await write((inner) => savePlan(inner, { ...begun, ...startNow(draftLasts_ms) }));
      const counts = await insertRows(write, begun.id, rows).catch(async (error: unknown) => {
        await dropPlan(write, begun.id);
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

/** Answers how many rows of each action there are. */
async function insertRows(
  write: Write,
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
    // Rows of a text in memory are there at once, and other work needs the event loop as well.
    await nextTurn();
  }
  await insertBatch(write, plan_id, batch);
  return counts;
}

async function insertBatch(write: Write, plan_id: string, rows: readonly PlanRow[]): Promise<void> {
  if (rows.length === 0) return;
  const values = rows.map((row) => ({
    ...row,
    plan_id,
    fields: writeJson(row.fields),
    before: writeJson(row.before),
  }));
  await write((db) => db.insertInto("plan_rows").values(values).execute());
}

/** A draft has no counts yet. */
type Draft = Omit<Plan, "counts"> & Partial<Pick<Plan, "counts">>;

async function savePlan(db: Db, { counts, problems, request, ...plan }: Draft): Promise<void> {
  const row = {
    ...plan,
    counts: counts === undefined ? draft : JSON.stringify(counts),
    problems: JSON.stringify(problems),
    request: JSON.stringify(request),
  };
  const insert = db.insertInto("plans").values(row);
  await insert.onConflict((conflict) => conflict.column("id").doUpdateSet(row)).execute();
}

/** Before a new plan is saved: plans that are over, and jobs too old to be undone. */
async function dropOld(
  { db, write }: Sql<StateTables>,
  key_print: string,
  now: number,
): Promise<void> {
  const jobs = db.selectFrom("jobs").where("updated_at", "<=", now - jobsLast_ms);
  const over = await jobs.select("plan_id").where("runs_until", "<=", now).execute();
  const applied = db.selectFrom("jobs").select("plan_id");
  const idle = db.selectFrom("plans").select("id").where("id", "not in", applied);
  const ended = await idle.where("expires_at", "<=", now).execute();
  const own = idle.where("key_print", "=", key_print).where("counts", "!=", draft);
  const newest = await own.orderBy("created_at", "desc").execute();
  const surplus = [...ended, ...newest.slice(mostIdle - 1)].map(({ id }) => id);
  for (const id of [...over.map(({ plan_id }) => plan_id), ...surplus]) await dropPlan(write, id);
}

/** With its job, if it has one. */
async function dropPlan(write: Write, id: string): Promise<void> {
  for (let count = batchRows; count === batchRows;) {
    const { numAffectedRows = 0n } = await write((db) =>
      raw`delete from plan_rows where plan_id = ${id} and "position" in
        (select "position" from plan_rows where plan_id = ${id} limit ${batchRows})`.execute(db),
    );
    count = Number(numAffectedRows);
    await nextTurn();
  }
  await write(async (db) => {
    await db.deleteFrom("jobs").where("plan_id", "=", id).execute();
    await db.deleteFrom("plans").where("id", "=", id).execute();
  });
}

export function readPlan(stored: StateTables["plans"]): Plan {
  const { counts, problems, operation, request, ...rest } = stored;
  // What was written as JSON when the plan was saved is read back as the same.
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
