import { setImmediate as nextTurn } from "node:timers/promises";
import { sql as raw } from "kysely";
import type { Sql } from "../sql/sql.ts";
import type { StateTables } from "./tables.ts";

/** Plans and jobs that are over, and their rows, leave the disk. */

/** In place of a plan's counts, until they are known. */
export const draft = "";
/** Many enough that a row costs little, and few enough that other writers need not wait long. */
export const batchRows = 500;
/** SQLite knows an offset only behind a limit, and PostgreSQL no negative one. */
export const noLimit = Number.MAX_SAFE_INTEGER;
/** For so long a job can be continued, or undone. */
const jobsLast_ms = 30 * 24 * 60 * 60_000;
/** Plans of one key that were not applied. */
const mostIdle = 20;

export type Write = Sql<StateTables>["write"];

/** Before a new plan is saved, those that are over go, and the jobs too old to be undone. */
export async function dropOld(
  { db, write }: Sql<StateTables>,
  key_print: string,
  now: number,
): Promise<void> {
  const jobs = db.selectFrom("jobs").where("updated_at", "<=", now - jobsLast_ms);
  const over = jobs.select(["id", "plan_id"]).where("runs_until", "<=", now);
  for (const { id, plan_id } of await over.execute()) {
    await dropRows(write, "job_rows", plan_id);
    await write((inner) => inner.deleteFrom("jobs").where("id", "=", id).execute());
  }
  const idle = db
    .selectFrom("plans")
    .select("id")
    .where("id", "not in", db.selectFrom("jobs").select("plan_id"));
  const ended = await idle.where("expires_at", "<=", now).execute();
  const own = idle.where("key_print", "=", key_print).where("counts", "!=", draft);
  // A key that plans again and again must not fill the disk.
  const kept = mostIdle - 1;
  const surplus = own.orderBy("created_at", "desc").limit(noLimit).offset(kept);
  for (const { id } of [...ended, ...(await surplus.execute())]) await dropPlan(write, id);
}

export async function dropPlan(write: Write, id: string): Promise<void> {
  await dropRows(write, "plan_rows", id);
  await write((db) => db.deleteFrom("plans").where("id", "=", id).execute());
}

/** A few at a time, so that other writers need not wait long. */
async function dropRows(
  write: Write,
  table: "plan_rows" | "job_rows",
  plan: string,
): Promise<void> {
  for (let count = batchRows; count === batchRows;) {
    const { numAffectedRows = 0n } = await write((db) =>
      raw`delete from ${raw.table(table)} where plan_id = ${plan} and "position" in
        (select "position" from ${raw.table(table)} where plan_id = ${plan}
          limit ${batchRows})`.execute(db),
    );
    count = Number(numAffectedRows);
    await nextTurn();
  }
}
