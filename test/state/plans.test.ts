import { randomBytes } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import type { Sql } from "../../src/sql/sql.ts";
import { createPlans, type PlanRow } from "../../src/state/plans.ts";
import type { State } from "../../src/state/state.ts";
import type { StateTables } from "../../src/state/tables.ts";
import { createGate, waitUntil } from "../support/clock.ts";
import { openStateForEach } from "../support/store-place.ts";

/** Tests that an incomplete plan cannot be found and is deleted. */

const at = openStateForEach();
let state: State;
let tables: Sql<StateTables>;

const hour_ms = 60 * 60_000;
const wanted = { key_print: "key", origin: "here", operation: "upsert", undoes: null } as const;
const blank = { row: null, link_id: null, path: "p", fields: {}, before: null, message: null };

beforeEach(async () => {
  state = await at.open();
  tables = await at.openSql();
});

const save = (rows: AsyncIterable<PlanRow>, key_print = "key") =>
  state.plans.save({ ...wanted, key_print, problems: [] }, rows);

async function* listRows(count: number, end = () => Promise.resolve()): AsyncGenerator<PlanRow> {
  for (let position = 0; position < count; position += 1) {
    yield { ...blank, position, action: "create" };
  }
  await end();
}

async function readTables(): Promise<{ readonly ids: readonly string[]; readonly rows: number }> {
  const plans = await tables.db.selectFrom("plans").select("id").execute();
  const rows = await tables.db.selectFrom("plan_rows").select("position").execute();
  return { ids: plans.map(({ id }) => id), rows: rows.length };
}

test("a plan is not stored if reading one of its rows fails", async () => {
  const rows = listRows(1200, () => Promise.reject(new Error("the file ended")));
  await expect(save(rows)).rejects.toThrow("the file ended");
  expect(await readTables()).toEqual({ ids: [], rows: 0 });
});

test("a plan can be found only after its last row is stored", async () => {
  const gate = createGate();
  const saving = save(listRows(1200, () => gate.opened));
  await waitUntil(async () => (await readTables()).rows === 1000);
  const [id = ""] = (await readTables()).ids;
  expect(await state.plans.find(id)).toBeUndefined();
  // Another process deletes expired plans before the last row is stored.
  at.now += 3 * hour_ms;
  await state.removeEnded();
  gate.open();
  const made = await saving;
  expect(made).toMatchObject({ id, counts: { create: 1200 }, expires_at: at.now + hour_ms });
  expect(await state.plans.find(id)).toEqual(made);
  expect(await state.plans.listRows(id, { limit: 2000 })).toHaveLength(1200);
});

test("an incomplete plan from a killed process is deleted after a day", async () => {
  void save(listRows(600, () => new Promise(() => undefined)));
  await waitUntil(async () => (await readTables()).rows === 500);
  at.now += 25 * hour_ms;
  await state.removeEnded();
  expect(await readTables()).toEqual({ ids: [], rows: 0 });
});

test("expired plans and jobs that ended 30 days ago are deleted regularly", async () => {
  await save(listRows(600));
  const applied = await save(listRows(1));
  const job = await state.jobs.open(applied);
  at.now += 2 * hour_ms - 1;
  await state.removeEnded();
  expect(await readTables()).toMatchObject({ rows: 601 });
  at.now += 1;
  await state.removeEnded();
  expect(await readTables()).toEqual({ ids: [applied.id], rows: 1 });
  at.now += 30 * 24 * hour_ms;
  await state.removeEnded();
  expect(await state.jobs.find(job.id)).toBeUndefined();
  expect(await readTables()).toEqual({ ids: [], rows: 0 });
});

test("an expired plan is not deleted if its job is opened during the clean-up", async () => {
  const plan = await save(listRows(1));
  at.now += 2 * hour_ms;
  const write: typeof tables.write = async (...given) => {
    await state.jobs.open(plan);
    return tables.write(...given);
  };
  const clock = { now: () => at.now, monotonic: () => 0 };
  await createPlans({ ...tables, write }, { clock, random: { bytes: randomBytes } }).removeEnded();
  expect(await state.jobs.findOfPlan(plan.id)).toMatchObject({ state: "interrupted" });
  expect(await readTables()).toEqual({ ids: [plan.id], rows: 1 });
});

test("only each key's twenty newest unused plans are kept", async () => {
  const other = await save(listRows(1), "other");
  const plans: string[] = [];
  for (let turn = 0; turn < 25; turn += 1) {
    at.now += 1000;
    plans.push((await save(listRows(1))).id);
  }
  expect(await readTables()).toEqual({ ids: expect.arrayContaining([other.id]), rows: 21 });
  expect((await readTables()).ids.toSorted()).toEqual([other.id, ...plans.slice(-20)].toSorted());
  expect((await state.plans.find(other.id))?.id).toBe(other.id);
});
