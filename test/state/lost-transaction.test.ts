import { sql as raw } from "kysely";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { openSqlite } from "../../src/sql/sqlite.ts";
import type { Sql, WriteOptions } from "../../src/sql/sql.ts";
import { createCounters } from "../../src/state/counters.ts";
import { createJobRuns } from "../../src/state/job-runs.ts";
import type { PlanRow } from "../../src/state/plans.ts";
import type { StateTables } from "../../src/state/tables.ts";
import { openStateForEach } from "../support/state-folder.ts";

/**
 * What is done again, for another writer of its group has filled the disk, is done as if for the
 * first time, and of what was never committed nothing is remembered.
 */

const at = openStateForEach();
const applicationId = 0x57415953;
let sql: Sql<StateTables>;

beforeEach(async () => {
  // The tables are made by whoever opens the file first.
  await at.open();
  sql = await openSqlite<StateTables>(at.file(), { applicationId });
  const opened = sql;
  onTestFinished(() => opened.close());
});

/** Ends the transaction of all, as a full disk does, and lets something else happen then. */
function lose(
  meanwhile: () => Promise<unknown> = () => Promise.resolve(),
  options: WriteOptions = {},
): Promise<void> {
  return sql.write(async (db) => {
    await raw`rollback`.execute(db);
    await meanwhile();
    throw new Error("the disk is full");
  }, options);
}

const line = (subject: string) => ({ kind: "link_writes", subject, window_ms: 60_000 });

test("a place in a budget is none of another key's, who came meanwhile", async () => {
  const clock = { now: () => at.now };
  const counters = createCounters(sql, clock);
  const other = (await at.open()).counters;
  const queue = (subject: string) => counters.queue(line(subject));
  const taken = queue("key").readWait_ms(1);
  const lost = lose(() => other.queue(line("another key")).readWait_ms(1));
  await Promise.allSettled([lost]);
  expect(await taken).toBe(0);
  expect(await queue("key").readWait_ms(1)).toBeGreaterThan(0);
  expect(await queue("another key").readWait_ms(1)).toBeGreaterThan(0);
});

test("notes of a job's rows are all there, and those that came meanwhile", async () => {
  const { plans, jobs: others } = await at.open();
  const wanted = { key_print: "key", origin: "here", operation: "upsert" } as const;
  const plan = await plans.save({ ...wanted, undoes: null, problems: [] }, listRows(3));
  const job = await others.open(plan);
  const run = { id: job.id, runner: "one" };
  await others.take(run);
  const notes = createJobRuns(sql, { now: () => at.now });
  const noted = [notes.noteEnd(run, 0, { status: "done" }), notes.noteSent(run, 1)];
  let last: Promise<boolean> | undefined;
  const meanwhile = async () => void (last = notes.noteSent(run, 2));
  await Promise.allSettled([lose(meanwhile, { isPatient: true })]);
  expect(await Promise.all(noted)).toEqual([undefined, true]);
  expect(await last).toBe(true);
  const receipts = await others.listReceipts(job, { limit: 3 });
  expect(receipts.map(({ status }) => status)).toEqual(["done", "sent", "sent"]);
});

async function* listRows(count: number): AsyncGenerator<PlanRow> {
  const row = { row: null, link_id: null, fields: {}, before: null, message: null };
  for (let position = 0; position < count; position += 1) {
    yield { ...row, position, action: "create", path: await Promise.resolve(`p${position}`) };
  }
}
