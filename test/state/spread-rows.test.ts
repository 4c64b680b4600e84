import { randomBytes } from "node:crypto";
import { sql as raw } from "kysely";
import { expect, test } from "vitest";
import { takeUpTo } from "../../src/sql/copied-tables.ts";
import { runMigrations } from "../../src/sql/migrate.ts";
import type { Sql } from "../../src/sql/sql.ts";
import { openState, stateMigrations } from "../../src/state/state.ts";
import type { StateTables } from "../../src/state/tables.ts";
import { takeEmptyDatabase } from "../support/postgres.ts";
import { openStateForEach } from "../support/state-folder.ts";
import { createPlace } from "../support/store-place.ts";

/** Tables of before their rows were found by plan or project, with something in them. */

const at = openStateForEach();

async function openEmpty(): Promise<Sql<StateTables> & AsyncDisposable> {
  const place = await createPlace(takeEmptyDatabase);
  return { ...(await place.openStateSql()), [Symbol.asyncDispose]: place[Symbol.asyncDispose] };
}

const counts = { create: 2, update: 0, unchanged: 0, delete: 0, conflict: 0, invalid: 0 };
const whose = { key_print: "key", created_at: 1, updated_at: 1 };

/** What Kysely knows of the tables is what they are by now. */
type Row = Readonly<Record<string, string | number | null>>;

async function plant(sql: Sql<StateTables>): Promise<void> {
  const { updated_at: _, ...ofPlan } = { ...whose, expires_at: Date.UTC(2100, 0) };
  const plan = { origin: "x", operation: "upsert", counts: JSON.stringify(counts), problems: "[]" };
  const job = { ...whose, state: "interrupted", runs_until: 0 };
  const change = { tool: "apply_plan", kind: "job", state: "done", effects: "[]", size: 2, at: 1 };
  const rows: readonly (readonly [keyof StateTables, Row])[] = [
    ...["one", "two"].map((id) => ["plans", { id, ...ofPlan, ...plan }] as const),
    ...["one", "two"].flatMap((plan_id) =>
      [0, 1].map((position) => ["plan_rows", { plan_id, position, action: "create" }] as const),
    ),
    ["jobs", { ...job, id: "job one", plan_id: "one" }],
    ["jobs", { ...job, id: "job two", plan_id: "two" }],
    ["job_rows", { job_id: "job one", position: 0, status: "done", link_id: "a" }],
    ["job_rows", { job_id: "job two", position: 1, status: "rejected", message: "no" }],
    ["job_rows", { job_id: "a job of long ago", position: 0, status: "done" }],
    [
      "changes",
      { ...change, id: "change", realm: "project", key_print: "key", target_id: "job one" },
    ],
    [
      "exports",
      { id: "file", page: 1, key_print: "key", type: "csv", text: "x", expires_at: at.now + 1 },
    ],
  ];
  await sql.write(async (db) => {
    for (const [table, row] of rows) {
      await db.insertInto(table).values(row).execute();
    }
  });
}

test("a notice of before is taken over, and so is that of a process of before", async () => {
  await using sql = await openEmpty();
  await runMigrations(sql, takeUpTo(stateMigrations[sql.engine], 13));
  const notice = { realm: "project", event: "job.finished", subject: "a job", data: "{}", at: 1 };
  await sql.write((db) =>
    db
      .insertInto("notices")
      .values({ ...notice, event: "job.finished", id: "evt one" })
      .execute(),
  );
  const clock = { now: () => at.now, monotonic: () => at.elapsed };
  const state = await openState(sql, { clock, random: { bytes: randomBytes } });
  for (const subject of ["another job", "told already"]) {
    await sql.write((db) =>
      raw`insert into notices (realm, id, event, subject, data, at)
        values ('project', 'evt two', 'job.finished', ${subject}, '{}', 2)
        on conflict (id) do nothing`.execute(db),
    );
  }
  const waiting = await state.notices.list(10);
  expect(waiting).toEqual([
    { ...notice, id: "evt one", data: {} },
    { ...notice, id: "evt two", subject: "another job", data: {}, at: 2 },
  ]);
  await state.notices.remove(waiting.map((one) => ({ ...one, realm: "another" })));
  expect(await state.notices.list(10)).toHaveLength(2);
  await state.notices.remove(waiting);
  expect(await state.notices.list(10)).toEqual([]);
  await state.close();
});

test("a job of before has its rows, its place in the history, and goes on", async () => {
  await using sql = await openEmpty();
  await runMigrations(sql, takeUpTo(stateMigrations[sql.engine], 11));
  await plant(sql);
  const clock = { now: () => at.now, monotonic: () => at.elapsed };
  const state = await openState(sql, { clock, random: { bytes: randomBytes } });
  const { jobs, history, exports } = state;
  expect(await jobs.find("job one")).toMatchObject({ counts: { done: 1, left: 1 } });
  const receipts = await jobs.listReceipts({ id: "job two" }, { limit: 10 });
  expect(receipts.map(({ status, message }) => ({ status, message }))).toEqual([
    { status: null, message: null },
    { status: "rejected", message: "no" },
  ]);
  const run = { id: "job one", runner: "a process" };
  expect(await jobs.take(run)).toBe(true);
  expect(await jobs.noteSent(run, 1)).toBe(true);
  await jobs.noteEnd(run, 1, { status: "done", link_id: "b" });
  expect(await jobs.find("job one")).toMatchObject({ counts: { done: 2, left: 0 } });
  await jobs.cancel("job one");
  expect(await history.find({ realm: "project" }, "change")).toMatchObject({
    note: "The job was cancelled.",
  });
  expect(await exports.findPage("key", "file", 1)).toBeDefined();
  await state.close();
});
