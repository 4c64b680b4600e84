import { expect, test } from "vitest";
import { writeCells } from "../../src/stats/cells.ts";
import { writeKind } from "../../src/stats/visit.ts";
import { foldVisits } from "../../src/store/fold-visits.ts";
import { readTotals } from "../../src/store/read-visits.ts";
import type { Store } from "../../src/store/store.ts";
import { watchChores } from "../support/chore-stores.ts";
import { addProject, makeId, now } from "../support/rows.ts";
import { createWorld } from "../support/world.ts";

/** Visits that wait to be put together: very many of them, and some that cannot be. */

const kind = writeKind("click", now, { platform: "desktop", source: "address" });
const oneVisit = () => writeCells(new Map([[makeId(), new Map([[kind, 1]])]]));

async function addBatches(store: Store, project_id: string, bodies: readonly string[]) {
  const rows = bodies.map((body) => ({ project_id, id: makeId(), owes_clicks: 0, body }) as const);
  await store.write(async (db) => {
    for (let start = 0; start < rows.length; start += 500) {
      const some = rows.slice(start, start + 500);
      await db.insertInto("visit_batches").values(some).execute();
    }
  });
}

async function readClicks({ db }: Store, projectId: string): Promise<number> {
  let sum = 0;
  const day = Math.floor(now / 86_400_000);
  await readTotals({ db, projectId }, { first: day, last: day }, (_, what, count) => {
    if (what === "click") sum += count;
  });
  return sum;
}

async function listWaiting({ db }: Store): Promise<readonly string[]> {
  const rows = await db.selectFrom("visit_batches").select("project_id").execute();
  return rows.map(({ project_id }) => project_id);
}

test("very many rows that wait are put together a thousand at a time", async () => {
  await using world = await createWorld();
  const { store } = world;
  const projectId = await addProject(store);
  await addBatches(store, projectId, Array.from({ length: 2500 }, oneVisit));
  const taken: number[] = [];
  const write: Store["write"] = async (work, options) => {
    const before = (await listWaiting(store)).length;
    const result = await store.write(work, options);
    taken.push(before - (await listWaiting(store)).length);
    return result;
  };
  await foldVisits({ db: store.db, write }, projectId, { isPatient: true });
  expect(Math.max(...taken)).toBeLessThanOrEqual(1008);
  expect([await listWaiting(store), await readClicks(store, projectId)]).toEqual([[], 2500]);
});

test("visits that cannot be put together are reported, and hold up no other's", async () => {
  await using world = await createWorld();
  const { store } = world;
  const projects: string[] = [];
  for (let turn = 0; turn < 3; turn += 1) projects.push(await addProject(store));
  const [first = "", broken = "", last = ""] = projects.toSorted();
  for (const id of [first, last]) await addBatches(store, id, [oneVisit()]);
  await addBatches(store, broken, ["[["]);
  await using watcher = await watchChores(world);
  expect(watcher.errors).toMatchObject([{ name: "SyntaxError" }]);
  expect(await listWaiting(store)).toEqual([broken]);
  expect([await readClicks(store, first), await readClicks(store, last)]).toEqual([1, 1]);
});
