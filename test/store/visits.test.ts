import { expect, test } from "vitest";
import { createClicks } from "../../src/host/clicks.ts";
import { day_ms, hour_ms, hourColumns } from "../../src/stats/visit.ts";
import { deleteProject } from "../../src/store/projects.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import { neverRing } from "../support/clock.ts";
import { addLink, addLinks, addProject, now, noteClick } from "../support/rows.ts";
import { createWorld, type World } from "../support/world.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests that every visit is counted exactly once. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

function openCounting(store: Pick<Store, "write">) {
  return createClicks({ store, clock: { now: () => now }, setAlarm: neverRing, report });
}

function report(error: unknown): void {
  expect.fail(String(error));
}

function noteMany(
  clicks: ReturnType<typeof openCounting>,
  projectId: string,
  ids: readonly string[],
) {
  for (const [place, linkId] of ids.entries()) {
    for (let turn = 0; turn <= place % 7; turn += 1) {
      noteClick(clicks, projectId, linkId, { at: now - (turn % 2) * day_ms });
    }
  }
}

const expected = (ids: readonly string[], times = 1) =>
  new Map(ids.map((id, place) => [id, times * ((place % 7) + 1)]));

const addAll = (counts: Iterable<number>) => [...counts].reduce((sum, one) => sum + one, 0);

async function readClicks({ db }: Store, projectId: string) {
  const links = db.selectFrom("links").select(["id", "clicks"]).where("project_id", "=", projectId);
  return new Map((await links.execute()).map(({ id, clicks }) => [id, clicks]));
}

const readRows = ({ db }: Store, projectId: string) =>
  db.selectFrom("visit_counts").selectAll().where("project_id", "=", projectId).execute();

/** Checks the clicks of each link. The sum of all links has an empty ID. */
async function expectCounted(store: Store, projectId: string, counts: Map<string, number>) {
  expect(await readClicks(store, projectId)).toEqual(counts);
  const rows = (await readRows(store, projectId)).filter((row) => row.dimension === "total");
  const totals = new Map([...counts, ["", addAll(counts.values())] as const]);
  expect(addByLink(rows, (row) => row.visits)).toEqual(totals);
  expect(addByLink(rows, addHours)).toEqual(totals);
}

type CountRow = Awaited<ReturnType<typeof readRows>>[number];

const addHours = (row: CountRow) => addAll(hourColumns.map((column) => row[column] ?? 0));

function addByLink(rows: readonly CountRow[], read: (row: CountRow) => number) {
  const sums = new Map<string, number>();
  for (const row of rows) sums.set(row.link_id, (sums.get(row.link_id) ?? 0) + read(row));
  return sums;
}

async function makeLinks({ store }: World, count: number) {
  const projectId = await addProject(store);
  const ids = await store.write((db) => addLinks({ db, projectId }, count));
  return { store, projectId, ids };
}

test("a project's visit counters add up to the clicks of its links", async () => {
  // Use more links than a transaction handles.
  const { store, projectId, ids } = await makeLinks(world, 2321);
  const clicks = openCounting(store);
  for (const times of [1, 2]) {
    noteMany(clicks, projectId, ids);
    await clicks.flush(projectId);
    await expectCounted(store, projectId, expected(ids, times));
  }
});

test("two processes that count concurrently count each visit only once", async () => {
  const { store, projectId, ids } = await makeLinks(world, 700);
  const other = await openStore(await world.openSql(), neverRing);
  const counting = [store, other].map(openCounting);
  for (let turn = 0; turn < 2; turn += 1) {
    for (const clicks of counting) noteMany(clicks, projectId, ids);
    await Promise.all(counting.map(async (clicks) => clicks.flush(projectId)));
  }
  await expectCounted(store, projectId, expected(ids, 4));
  await other.close();
});

test("a failed write of visits counts nothing, and its retry counts each visit once", async () => {
  const { store, projectId, ids } = await makeLinks(world, 1200);
  let fails = true;
  const clicks = createClicks({
    store: {
      write: (work, options) =>
        store.write(async (db) => {
          const result = await work(db);
          if (fails) throw new Error("killed");
          return result;
        }, options),
    },
    clock: { now: () => now },
    setAlarm: neverRing,
    report: () => undefined,
  });
  noteMany(clicks, projectId, ids);
  await clicks.flush(projectId);
  expect(await readRows(store, projectId)).toEqual([]);
  fails = false;
  await clicks.flush(projectId);
  await expectCounted(store, projectId, expected(ids));
});

test("at most 100 referrers per link and 1,000 per project are stored each day", async () => {
  const { store, projectId } = await makeLinks(world, 1);
  const linkId = await store.write((db) => addLink({ db, projectId }, "flooded"));
  const clicks = openCounting(store);
  for (let turn = 0; turn < 700; turn += 1) {
    const at = now - (turn % 3) * hour_ms;
    noteClick(clicks, projectId, linkId, { referrer: `host-${turn % 350}.example`, at });
    if (turn % 60 === 0) await clicks.flush(projectId);
  }
  await clicks.flush(projectId);
  const rows = await readRows(store, projectId);
  for (const [link_id, kept] of [
    [linkId, 100],
    ["", 350],
  ] as const) {
    const own = rows.filter((row) => row.link_id === link_id && row.dimension === "referrer");
    expect([addAll(own.map((row) => row.visits)), addAll(own.map(addHours))]).toEqual([700, 700]);
    const hosts = new Set(own.map(({ value }) => value));
    expect([hosts.delete("other"), hosts.size]).toEqual([kept < 350, kept]);
  }
});

test("the referrer limits hold even if 60 links get 200 referrers each at once", async () => {
  await using world = await createWorld();
  const { store, projectId, ids } = await makeLinks(world, 60);
  const clicks = openCounting(store);
  for (const id of ids) {
    for (let host = 0; host < 200; host += 1) {
      noteClick(clicks, projectId, id, { referrer: `host-${host}-of-${id}.example`, at: now });
    }
  }
  await clicks.flush(projectId);
  const rows = await readRows(store, projectId);
  const referrers = rows.filter(({ dimension }) => dimension === "referrer");
  for (const link of [...ids, ""]) {
    const own = referrers.filter(({ link_id, value }) => link_id === link && value !== "other");
    expect(own).toHaveLength(link === "" ? 1000 : 100);
  }
});

test("deleting a project deletes its visits", async () => {
  const { store, projectId, ids } = await makeLinks(world, 1200);
  const clicks = openCounting(store);
  noteMany(clicks, projectId, ids);
  await clicks.flush(projectId);
  await store.write((db) => deleteProject(db, projectId));
  await store.finishTasks();
  expect(await readRows(store, projectId)).toEqual([]);
});

test("visits counted after their project was deleted are not stored", async () => {
  const { store, projectId, ids } = await makeLinks(world, 300);
  const other = await makeLinks(world, 2);
  await store.write((db) => deleteProject(db, projectId));
  await store.finishTasks();
  const clicks = openCounting(store);
  noteMany(clicks, projectId, ids);
  noteMany(clicks, other.projectId, other.ids);
  await clicks.flush(projectId);
  await expectCounted(store, other.projectId, expected(other.ids));
  expect(await readRows(store, projectId)).toEqual([]);
});
