import type { KyselyPlugin } from "kysely";
import { expect, test } from "vitest";
import { createClicks } from "../../src/host/clicks.ts";
import { addCells, type Cells } from "../../src/stats/cells.ts";
import { readId, readNumber, unpackIds } from "../../src/stats/link-ids.ts";
import { hour_ms } from "../../src/stats/visit.ts";
import { foldOldDays } from "../../src/store/fold-old-days.ts";
import { foldVisits } from "../../src/store/fold-visits.ts";
import { deleteProject } from "../../src/store/projects.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import { FoldedMeanwhile, readTotals } from "../../src/store/read-totals.ts";
import { owesClicks } from "../../src/store/visit-batches.ts";
import { readDay } from "../../src/store/visit-days.ts";
import { neverRing } from "../support/alarms.ts";
import { addLink, addLinks, addProject, now, staying } from "../support/rows.ts";
import { noteClick } from "../support/note-click.ts";
import { createWorld, type World } from "../support/world.ts";

/** Visits are written down as they come, and put together by day: none is lost or counted twice. */

const patient = { isPatient: true };
const sweep = { signal: new AbortController().signal, onError: report };
const countTo = 1700;

function openCounting(store: Store) {
  const clock = { now: () => 0, monotonic: () => 0 };
  return createClicks({ store, clock, setAlarm: neverRing, report });
}

function report(error: unknown): void {
  expect.fail(String(error));
}

async function fold(clicks: ReturnType<typeof openCounting>, store: Store, projectId: string) {
  await clicks.write(projectId);
  await foldVisits(store, projectId, patient);
}

/** Link by link one more, from one to seven, on two days. */
function noteMany(
  clicks: ReturnType<typeof openCounting>,
  projectId: string,
  ids: readonly string[],
) {
  for (const [place, linkId] of ids.entries()) {
    for (let turn = 0; turn <= place % 7; turn += 1) {
      noteClick(clicks, projectId, linkId, { at: now - (turn % 2) * 24 * hour_ms });
    }
  }
}

const expected = (ids: readonly string[], times = 1) =>
  new Map(ids.map((id, place) => [id, times * ((place % 7) + 1)]));

async function readClicks({ db }: Store, projectId: string) {
  const links = db.selectFrom("links").select(["id", "clicks"]).where("project_id", "=", projectId);
  return new Map((await links.execute()).map(({ id, clicks }) => [id, clicks]));
}

/** By what each of the ways in which they are kept has of them. */
async function readKept({ db }: Store, projectId: string) {
  const days = await db
    .selectFrom("visit_days")
    .selectAll()
    .where("project_id", "=", projectId)
    .execute();
  const sums = new Map<string, number>();
  const details = new Map<string, number>();
  const kinds = new Map<string, number>();
  for (const row of days) {
    readDay(row, (id, counts) => {
      expect(id >= row.first_id && id <= row.last_id).toBe(true);
      for (const [kind, count] of counts) {
        add(kinds, kind, count);
        add(details, id, count);
      }
    });
    const ids = unpackIds(row.ids);
    const counts = readAll(row.sums);
    for (let place = 0; place < ids.length / 16; place += 1) {
      add(
        sums,
        readId(ids, place),
        counts.slice(place * 3, place * 3 + 3).reduce((sum, one) => sum + one),
      );
    }
  }
  const totals: Cells = new Map();
  const bodies = await db
    .selectFrom("visit_totals")
    .selectAll()
    .where("project_id", "=", projectId)
    .execute();
  for (const { body } of bodies) addCells(totals, body);
  const total = [...totals.values()].reduce((sum, counts) => sum + (counts.get("click") ?? 0), 0);
  return { sums, details, kinds, totals, total, rows: days.length };
}

function readAll(text: string): readonly number[] {
  const reader = { numbers: Buffer.from(text, "base64"), at: 0 };
  const all: number[] = [];
  while (reader.at < reader.numbers.length) all.push(readNumber(reader));
  return all;
}

function add(to: Map<string, number>, id: string, count: number): void {
  to.set(id, (to.get(id) ?? 0) + count);
}

async function countBatches({ db }: Store): Promise<number> {
  return (await db.selectFrom("visit_batches").select("id").execute()).length;
}

/** Counts the days' rows that are read, but for their first ids, and those that are written. */
function countDayRows(store: Store) {
  const counted = { read: 0, written: 0 };
  const writing = new WeakSet<object>();
  const reading = new WeakSet<object>();
  const plugin: KyselyPlugin = {
    transformQuery: ({ node, queryId }) => {
      const text = JSON.stringify(node);
      if (node.kind === "InsertQueryNode" && text.includes("visit_days")) writing.add(queryId);
      if (node.kind === "SelectQueryNode" && text.includes('"detail"')) reading.add(queryId);
      return node;
    },
    transformResult: ({ result, queryId }) => {
      if (reading.has(queryId)) counted.read += result.rows.length;
      if (writing.has(queryId)) counted.written += Number(result.numAffectedRows);
      return Promise.resolve(result);
    },
  };
  const write: Store["write"] = (work, options) =>
    store.write((db) => work(db.withPlugin(plugin)), options);
  return { counted, store: { db: store.db, write } };
}

async function makeLinks(world: World, count: number) {
  const { store } = world;
  const projectId = await addProject(store);
  const ids = await store.write((db) => addLinks({ db, projectId }, count));
  return { store, projectId, ids };
}

test("many links' visits cost a few rows, and are exact for whoever asks next", async () => {
  await using world = await createWorld();
  // More than one transaction takes.
  const { store, projectId, ids } = await makeLinks(world, 4321);
  const clicks = openCounting(store);
  noteMany(clicks, projectId, ids);
  await clicks.close();
  expect(await countBatches(store)).toBe(3);
  expect(await owesClicks({ db: store.db, projectId })).toBe(true);
  await clicks.flush(projectId);
  expect(await readClicks(store, projectId)).toEqual(expected(ids));
  expect([await countBatches(store), await owesClicks({ db: store.db, projectId })]).toEqual([
    0,
    false,
  ]);
  noteMany(clicks, projectId, ids);
  await clicks.flush(projectId, ids[0]);
  await fold(clicks, store, projectId);
  expect(await readClicks(store, projectId)).toEqual(expected(ids, 2));
  const { sums, details, total, rows } = await readKept(store, projectId);
  expect([sums, details]).toEqual([expected(ids, 2), expected(ids, 2)]);
  expect(total).toBe([...expected(ids, 2).values()].reduce((sum, one) => sum + one));
  expect(rows).toBeLessThan(60);
});

test("few links' clicks are added at once, and told apart later", async () => {
  await using world = await createWorld();
  const { store, projectId, ids } = await makeLinks(world, 20);
  const clicks = openCounting(store);
  for (let turn = 0; turn < 5; turn += 1) {
    noteMany(clicks, projectId, ids);
    await clicks.flush(projectId);
    expect(await readClicks(store, projectId)).toEqual(expected(ids, turn + 1));
  }
  expect(await countBatches(store)).toBe(5);
  await fold(clicks, store, projectId);
  expect(await countBatches(store)).toBe(0);
  expect((await readKept(store, projectId)).sums).toEqual(expected(ids, 5));
});

test("of a day with very many links only the rows of those visited are written anew", async () => {
  await using world = await createWorld();
  const { store, projectId, ids } = await makeLinks(world, 6000);
  const clicks = openCounting(store);
  noteMany(clicks, projectId, ids);
  await fold(clicks, store, projectId);
  const { rows } = await readKept(store, projectId);
  expect(rows).toBeGreaterThan(40);
  const sorted = ids.toSorted();
  const visited = [sorted[0] ?? "", sorted[3000] ?? "", sorted.at(-1) ?? ""];
  for (const linkId of visited) noteClick(clicks, projectId, linkId);
  await clicks.close();
  const { counted, store: counting } = countDayRows(store);
  await foldVisits(counting, projectId, patient);
  expect(counted).toEqual({ read: 3, written: 3 });
  const after = expected(ids);
  for (const id of visited) after.set(id, (after.get(id) ?? 0) + 1);
  const { sums, details } = await readKept(store, projectId);
  expect([sums, details]).toEqual([after, after]);
});

test("a day's rows stay in order, wherever among the others a link is visited next", async () => {
  await using world = await createWorld();
  const { store, projectId, ids } = await makeLinks(world, 2100);
  const clicks = openCounting(store);
  const sorted = ids.toSorted();
  // From the middle outwards, then between all of them.
  const turns = [
    sorted.slice(1000, 1010),
    sorted.slice(990, 1000),
    sorted.slice(0, 1),
    sorted.slice(-1),
    sorted.filter((_, place) => place % 3 === 0),
    sorted,
  ];
  const all = new Map<string, number>();
  for (const turn of turns) {
    for (const linkId of turn) noteClick(clicks, projectId, linkId);
    for (const linkId of turn) add(all, linkId, 1);
    await fold(clicks, store, projectId);
    const { sums, details } = await readKept(store, projectId);
    expect([sums, details]).toEqual([all, all]);
  }
  const rows = await store.db
    .selectFrom("visit_days")
    .select(["first_id", "last_id"])
    .where("project_id", "=", projectId)
    .orderBy("first_id")
    .execute();
  const ends = rows.flatMap(({ first_id, last_id }) => [first_id, last_id]);
  expect(ends).toEqual(ends.toSorted());
  expect(rows.length).toBeLessThan(24);
});

test("processes that put the same together at once count each visit once", async () => {
  await using world = await createWorld();
  const { store, projectId, ids } = await makeLinks(world, countTo);
  const others = [store, await openStore(await world.openSql(), neverRing)];
  const counting = others.map(openCounting);
  for (let turn = 0; turn < 2; turn += 1) {
    for (const clicks of counting) noteMany(clicks, projectId, ids);
    await Promise.all(counting.map(async (clicks) => clicks.flush(projectId)));
  }
  await Promise.all(others.map((own) => foldVisits(own, projectId, patient)));
  expect(await readClicks(store, projectId)).toEqual(expected(ids, 4));
  const { sums, details } = await readKept(store, projectId);
  expect([sums, details]).toEqual([expected(ids, 4), expected(ids, 4)]);
  await others[1]?.close();
});

test("sums of one moment have each visit once, while others put visits together", async () => {
  await using world = await createWorld();
  const { store, projectId, ids } = await makeLinks(world, 20);
  const clicks = openCounting(store);
  noteMany(clicks, projectId, ids);
  await clicks.close();
  const folding: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      await foldVisits(store, projectId, patient);
      return result;
    },
  };
  const day = Math.floor(now / hour_ms / 24);
  const read = async (db: Store["db"]) => {
    let sum = 0;
    const tenant = { db: db.withPlugin(folding), projectId };
    await readTotals(tenant, { first: day - 1, last: day }, (_, kind, count) => {
      if (kind === "click") sum += count;
    });
    return sum;
  };
  const sum = await store.readLong(read, { signal: staying, line: projectId });
  expect(sum).toBe([...expected(ids).values()].reduce((one, other) => one + other));
  expect(await countBatches(store)).toBe(0);
  // Of more than one moment they are not told at all.
  noteMany(clicks, projectId, ids);
  await clicks.write(projectId);
  await expect(read(store.db)).rejects.toThrow(FoldedMeanwhile);
});

test("a process that ends in the middle leaves the rest for the next one", async () => {
  await using world = await createWorld();
  const { store, projectId, ids } = await makeLinks(world, countTo);
  const clicks = openCounting(store);
  noteMany(clicks, projectId, ids);
  await clicks.close();
  for (let left = 1; left < 4; left += 1) {
    let writes = 0;
    const write: Store["write"] = (work, options) => {
      writes += 1;
      if (writes > left) return Promise.reject(new Error("killed"));
      return store.write(work, options);
    };
    await expect(foldVisits({ db: store.db, write }, projectId, patient)).rejects.toThrow("killed");
    expect(await owesClicks({ db: store.db, projectId })).toBe(true);
  }
  await foldVisits(store, projectId, patient);
  expect(await readClicks(store, projectId)).toEqual(expected(ids));
  expect((await readKept(store, projectId)).sums).toEqual(expected(ids));
});

test("a stranger makes up no more than a hundred hosts of a link and day", async () => {
  await using world = await createWorld();
  const { store, projectId } = await makeLinks(world, 1);
  const linkId = await store.write((db) => addLink({ db, projectId }, "flooded"));
  const clicks = openCounting(store);
  for (let turn = 0; turn < 700; turn += 1) {
    noteClick(clicks, projectId, linkId, { referrer: `host-${turn}.example` });
    if (turn % 60 === 0) await fold(clicks, store, projectId);
  }
  await fold(clicks, store, projectId);
  const { sums, kinds } = await readKept(store, projectId);
  expect(sums.get(linkId)).toBe(700);
  const hosts = [...kinds.keys()].map((kind) => kind.split(" ").at(-1));
  expect(hosts).toHaveLength(101);
  expect(hosts).toContain("other");
});

test("after ninety days the hours are gone, and nothing else is", async () => {
  await using world = await createWorld();
  const { store, projectId, ids } = await makeLinks(world, 300);
  const clicks = openCounting(store);
  for (const at of [now - hour_ms, now - 26 * hour_ms]) {
    for (const linkId of ids) noteClick(clicks, projectId, linkId, { at });
  }
  await fold(clicks, store, projectId);
  const before = await readKept(store, projectId);
  const readHours = async () =>
    [...(await readKept(store, projectId)).totals.keys()]
      .map((hour) => Number(hour) % 24)
      .toSorted((one, other) => one - other);
  await foldOldDays(store, now + 90 * 24 * hour_ms, sweep);
  // The earlier of the two days is over for ninety days, and the later one is not.
  expect(await readHours()).toEqual([11, 12]);
  await foldOldDays(store, now + 91 * 24 * hour_ms, sweep);
  expect(await readHours()).toEqual([12, 12]);
  const after = await readKept(store, projectId);
  expect([after.sums, after.details, after.total]).toEqual([
    before.sums,
    before.details,
    before.total,
  ]);
});

test("a deleted project's visits are gone with it", async () => {
  await using world = await createWorld();
  const { store, projectId, ids } = await makeLinks(world, 300);
  const clicks = openCounting(store);
  noteMany(clicks, projectId, ids);
  await fold(clicks, store, projectId);
  noteMany(clicks, projectId, ids);
  await clicks.close();
  await store.write((db) => deleteProject(db, projectId));
  await store.finishChores();
  const { rows, total } = await readKept(store, projectId);
  expect([rows, total, await countBatches(store)]).toEqual([0, 0, 0]);
});

test("visits on their way when a project is deleted leave nothing behind", async () => {
  await using world = await createWorld();
  const { store, projectId, ids } = await makeLinks(world, 300);
  const other = await makeLinks(world, 2);
  await store.write((db) => deleteProject(db, projectId));
  await store.finishChores();
  const clicks = openCounting(store);
  // With those of more links than are added at once, and of as few.
  for (const some of [ids, ids.slice(0, 2)]) {
    noteMany(clicks, projectId, some);
    noteMany(clicks, other.projectId, other.ids);
    await clicks.write(projectId);
  }
  await fold(clicks, store, other.projectId);
  const batches = store.db.selectFrom("visit_batches").select("project_id");
  expect(await batches.execute()).toEqual([]);
  expect((await readKept(store, other.projectId)).sums).toEqual(expected(other.ids, 2));
  expect((await readKept(store, projectId)).rows).toBe(0);
});
