import { randomBytes } from "node:crypto";
import { sql as raw } from "kysely";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openSqlite } from "../../src/sql/sqlite.ts";
import type { Sql, WriteOptions } from "../../src/sql/sql.ts";
import { createApprovals } from "../../src/state/approvals.ts";
import { createSharedBudgetLedger } from "../../src/state/budget-ledger.ts";
import { createJobNotes } from "../../src/state/job-notes.ts";
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

test("a place in a budget is none of another key's, who came meanwhile", async () => {
  const clock = { now: () => at.now };
  const ledger = createSharedBudgetLedger(sql, clock);
  const other = (await at.open()).budgetLedger;
  const queue = (key: string) => ledger.queue(key, "link_writes");
  const taken = queue("key").readWait_ms(1);
  const lost = lose(() => other.queue("another key", "link_writes").readWait_ms(1));
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
  const notes = createJobNotes(sql, { now: () => at.now });
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

describe("an approval that was over stays over, though the clock was set back", () => {
  const act = { digest: "an act", preview: "{}" };
  const open = async () => {
    const clock = { now: () => at.now, monotonic: () => at.elapsed };
    const random = { bytes: (count: number) => randomBytes(count) };
    const approvals = createApprovals(sql, { clock, random });
    const { id } = await approvals.openForToken(act);
    at.elapsed += 5 * 60_000;
    return { approvals, id };
  };

  test("and its row was deleted in a transaction that was lost", async () => {
    const { approvals, id } = await open();
    const next = approvals.openForToken({ ...act, digest: "another act" });
    await Promise.allSettled([lose()]);
    await next;
    expect(await approvals.takeForToken(id, act.digest)).toBe(false);
  });

  test("and its row could not be deleted", async () => {
    const { approvals, id } = await open();
    await sql.write((db) => raw`pragma max_page_count = 1`.execute(db));
    const long = { ...act, preview: "x".repeat(1_000_000) };
    await expect(approvals.openForToken(long)).rejects.toThrow("full");
    expect(await approvals.takeForToken(id, act.digest)).toBe(false);
  });
});
