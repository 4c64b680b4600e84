import { expect, test } from "vitest";
import { writeCells } from "../../src/stats/cells.ts";
import { day_ms, writeKind } from "../../src/stats/visit.ts";
import { foldForReader } from "../../src/store/fold-for-reader.ts";
import { readTotals } from "../../src/store/read-totals.ts";
import type { Days } from "../../src/store/read-visits.ts";
import { StoreBusy, type Store } from "../../src/store/store.ts";
import { watchChores } from "../support/chore-stores.ts";
import { addProject, makeId, now } from "../support/rows.ts";
import { createWorld } from "../support/world.ts";

/** Visits that wait to be put together: very many of them, and some that cannot be. */

const facts = { platform: "desktop", source: "address" } as const;
const kind = writeKind("click", now, facts);
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

const today = Math.floor(now / day_ms);

async function readClicks(
  { db }: Pick<Store, "db">,
  projectId: string,
  days: Days = { first: today, last: today },
): Promise<number> {
  let sum = 0;
  await readTotals({ db, projectId }, days, (_, what, count) => {
    if (what === "click") sum += count;
  });
  return sum;
}

async function listWaiting({ db }: Store): Promise<readonly string[]> {
  const rows = await db.selectFrom("visit_batches").select("project_id").execute();
  return rows.map(({ project_id }) => project_id);
}

test("those who wait for one project's visits at once have them put together once", async () => {
  await using world = await createWorld();
  const { store } = world;
  const projectId = await addProject(store);
  let writes = 0;
  const write: Store["write"] = (work, options) => {
    writes += 1;
    return store.write(work, options);
  };
  const fold = () => foldForReader({ ...store, write }, projectId);
  await addBatches(store, projectId, Array.from({ length: 300 }, oneVisit));
  const early = Array.from({ length: 10 }, fold);
  await addBatches(store, projectId, [oneVisit()]);
  // It may have come too late for those; whoever comes now waits for it.
  await Promise.all([...early, ...Array.from({ length: 10 }, fold)]);
  expect(await listWaiting(store)).toEqual([]);
  expect(await readClicks(store, projectId)).toBe(301);
  expect(writes).toBeLessThanOrEqual(2);
});

test("a folding that fails is told to those who waited for it, and others try again", async () => {
  await using world = await createWorld();
  const { store } = world;
  const projectId = await addProject(store);
  await addBatches(store, projectId, [oneVisit()]);
  let isAway = true;
  const write: Store["write"] = (work, options) =>
    isAway ? Promise.reject(new StoreBusy("gone for a moment")) : store.write(work, options);
  const fold = () => foldForReader({ ...store, write }, projectId);
  await expect(Promise.all([fold(), fold()])).rejects.toThrow("gone for a moment");
  const failing = fold();
  await Promise.resolve();
  const next = fold();
  isAway = false;
  await Promise.allSettled([failing]);
  await next;
  expect(await listWaiting(store)).toEqual([]);
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

test("hosts that strangers make up fill no memory while visits wait, nor hide others", async () => {
  await using world = await createWorld();
  const { store } = world;
  const projectId = await addProject(store);
  const bodies = Array.from({ length: 20 }, (_, turn) => {
    const hosts = Array.from({ length: 1200 }, (__, host) => {
      const referrer = `made-up-${turn}-${host}.example`;
      return [writeKind("click", now, { ...facts, referrer }), 1] as const;
    });
    const news = writeKind("click", now, { ...facts, referrer: "news.example" });
    return writeCells(new Map([[makeId(), new Map([...hosts, [news, 1]])]]));
  });
  await addBatches(store, projectId, bodies);
  const hosts = new Map<string, number>();
  await readTotals({ db: store.db, projectId }, { first: today, last: today }, (_, what, count) => {
    const [, fact, host = ""] = what.split(" ");
    if (fact === "referrer") hosts.set(host, (hosts.get(host) ?? 0) + count);
  });
  expect(hosts.size).toBeLessThanOrEqual(1001);
  expect(hosts.get("news.example")).toBe(20);
  expect([...hosts.values()].reduce((one, other) => one + other)).toBe(20 * 1201);
});
