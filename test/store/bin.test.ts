import { afterEach, describe, expect, test } from "vitest";
import { androidAppStore, iosAppStore } from "../../src/store/apps.ts";
import { countBin, findInBin, listBin } from "../../src/store/bin.ts";
import { addClicks } from "../../src/store/visit-counts.ts";
import { claimAddress, deleteLink, findLink } from "../../src/store/links.ts";
import { deleteProject } from "../../src/store/projects.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import { createIndex } from "../../src/store/trigram-index.ts";
import { neverRing } from "../support/clock.ts";
import { openWith, watchTasks } from "./task-stores.ts";
import { openForEach } from "../support/open-for.ts";
import { addLink, addLinks, addProject, makeId, now, restoreDeleted } from "../support/rows.ts";
import { createWorld, type World } from "../support/world.ts";

/** Tests the bin, which stores deleted records and restores them. */

/** Enough links for more than two batches of any task. */
const many = 2500;
const hour_ms = 60 * 60 * 1000;
const day_ms = 24 * hour_ms;

let world: World;
/** The same store, opened again as another process would. */
let other: Store;

openForEach(createWorld, async (opened) => {
  world = opened;
  other = await openStore(await world.openSql(), neverRing);
});
afterEach(() => other.close());

const iosBody = { ios_app: { bundle_id: "com.example.app", team_id: "ABCDE12345" } };
const androidBody = { android_app: { package_name: "com.example.app", fingerprints: ["AB:CD"] } };

const tenant = () => ({ db: world.store.db, projectId: world.project.id });
const readTasks = ({ db }: Store) => db.selectFrom("chores").selectAll().execute();
const readBin = ({ db }: Store) => db.selectFrom("bin").select("id").execute();

const firstPage = { offset: 0, limit: 10 };
const values = {
  name: "App",
  bundle_id: "com.example",
  team_id: "ABCDE12345",
  app_store_id: null,
  clip_bundle_id: null,
  custom_scheme: null,
};

describe("the bin", () => {
  test("returns whole rows to every process, but only for the row's own project", async () => {
    const { store } = world;
    const [projectId, foreign] = [await addProject(store), await addProject(store)];
    const id = await store.write((db) =>
      addLink({ db, projectId }, "spring", { shortened_path: "s", name: "Spring" }),
    );
    const query = store.db.selectFrom("links").selectAll().where("id", "=", id);
    const { rowkey: _, project_id: __, ...row } = await query.executeTakeFirstOrThrow();
    await store.write((db) => deleteLink({ db, projectId }, id, now));
    const tenant = { db: other.db, projectId };
    expect(await findInBin(tenant, "link", id, now)).toEqual({ id, row, clicks: 0 });
    expect(await listBin(tenant, now, firstPage)).toMatchObject([
      { kind: "link", id, deleted_at: now, row: { path: "spring" } },
    ]);
    const stranger = { db: other.db, projectId: foreign };
    expect(await findInBin(stranger, "link", id, now)).toBeUndefined();
    expect(await findInBin(tenant, "ios_app", id, now)).toBeUndefined();
    expect([await countBin(tenant, now), await countBin(stranger, now)]).toEqual([1, 0]);
    expect(await listBin(stranger, now, firstPage)).toEqual([]);
  });

  test("lists the latest deletions first, by page", async () => {
    const { store } = world;
    const projectId = await addProject(store);
    const ids: string[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const id = await store.write((db) => addLink({ db, projectId }, `p${turn}`));
      await store.write((db) => deleteLink({ db, projectId }, id, now + turn));
      ids.unshift(id);
    }
    const read = async (offset: number) => {
      const page = await listBin({ db: store.db, projectId }, now + 3, { offset, limit: 2 });
      return page.map((entry) => entry.id);
    };
    expect([await read(0), await read(2)]).toEqual([ids.slice(0, 2), ids.slice(2)]);
    const tenant = { db: store.db, projectId };
    const ofApps = { kinds: ["ios_app", "android_app"] } as const;
    expect(await listBin(tenant, now + 3, { ...firstPage, ...ofApps })).toEqual([]);
    const counts = [{}, { most: 2 }, ofApps].map((wanted) => countBin(tenant, now + 3, wanted));
    expect(await Promise.all(counts)).toEqual([3, 2, 0]);
  });
});

describe("restoring a deleted record", () => {
  test("adds visits to a link that were counted after its deletion", async () => {
    const { store } = world;
    const [projectId, foreign] = [await addProject(store), await addProject(store)];
    const gone = await store.write((db) => addLink({ db, projectId }, "gone"));
    const there = await store.write((db) => addLink({ db, projectId }, "there"));
    await store.write((db) => deleteLink({ db, projectId }, gone, now));
    await other.write((db) =>
      addClicks(db, [
        { projectId, linkId: there, clicks: 2 },
        { projectId, linkId: gone, clicks: 3 },
        { projectId: foreign, linkId: gone, clicks: 5 },
        { projectId, linkId: makeId(), clicks: 7 },
      ]),
    );
    const tenant = { db: store.db, projectId };
    expect(await findInBin(tenant, "link", gone, now)).toMatchObject({ clicks: 3 });
    await store.write((db) => restoreDeleted({ db, projectId }, gone));
    expect(await findLink(tenant, gone)).toMatchObject({ clicks: 3 });
    expect(await findLink(tenant, there)).toMatchObject({ clicks: 2 });
    expect(await countBin(tenant, now)).toBe(0);
  });

  test("is not possible through another project, and neither is deleting", async () => {
    const { store } = world;
    const [projectId, foreign] = [await addProject(store), await addProject(store)];
    const id = makeId();
    await store.write((db) => iosAppStore.insert({ db, projectId }, id, values, 1));
    await store.write((db) => iosAppStore.remove({ db, projectId: foreign }, id, now));
    expect(await iosAppStore.find({ db: store.db, projectId }, id)).toBeDefined();
  });

  test("returns an app with its ID, even after several deletions", async () => {
    const { store } = world;
    const projectId = await addProject(store);
    const tenant = { db: other.db, projectId };
    const id = makeId();
    await store.write((db) => iosAppStore.insert({ db, projectId }, id, values, 1));
    const rows = store.db.selectFrom("ios_apps").selectAll().where("id", "=", id);
    const before = await rows.execute();
    for (const turn of [1, 2]) {
      await store.write((db) => iosAppStore.remove({ db, projectId }, id, now + turn));
      expect(await iosAppStore.find(tenant, id)).toBeUndefined();
      const restored = await store.write((db) =>
        iosAppStore.restore({ db, projectId }, id, now + turn),
      );
      expect(restored).toEqual({ restored: { app: { id, ...values } } });
      expect(await rows.execute()).toEqual(before);
    }
    const again = store.write((db) => iosAppStore.restore({ db, projectId }, id, now));
    expect(await again).toBeUndefined();
  });

  test("does not reserve the path of a link that cannot be restored", async () => {
    const { store } = world;
    const projectId = await addProject(store);
    const more = { shortened_path: "short" };
    const id = await store.write((db) => addLink({ db, projectId }, "long", more));
    await store.write((db) => deleteLink({ db, projectId }, id, now));
    await store.write((db) => addLink({ db, projectId }, "short"));
    const refused = await store.write((db) => restoreDeleted({ db, projectId }, id));
    expect(refused).toEqual({ taken: ["shortened_path"] });
    const isFree = store.write((db) => claimAddress({ db, projectId }, "long", makeId()));
    expect(await isFree).toBe(true);
  });
});

describe.each([
  ["ios_app", iosBody],
  ["android_app", androidBody],
] as const)("an %s with more links than one batch", (kind, body) => {
  const { remove: removeApp, restore: restoreApp } =
    kind === "ios_app" ? iosAppStore : androidAppStore;
  const column = `${kind}_id` as const;

  async function addApp(): Promise<string> {
    const { id } = (await world.call("POST", `/${kind}s`, { body })).body;
    await world.store.write((db) => addLinks({ ...tenant(), db }, many, { [column]: id }));
    return id;
  }

  async function countAttached(id: string): Promise<number> {
    const links = world.store.db.selectFrom("links").select("id").where(column, "=", id);
    return (await links.execute()).length;
  }

  const remove = (id: string) =>
    world.store.write((db) => removeApp({ ...tenant(), db }, id, world.now()));
  const restore = (id: string) =>
    world.store.write<unknown>((db) => restoreApp({ ...tenant(), db }, id, world.now()));

  test("is restored on all its links before the response", async () => {
    const id = await addApp();
    expect((await world.call("DELETE", `/${kind}s/${id}`)).status).toBe(204);
    expect(await countAttached(id)).toBe(0);
    expect((await world.call("POST", `/${kind}s/${id}/restore`)).status).toBe(200);
    expect(await countAttached(id)).toBe(many);
    expect(await readTasks(world.store)).toEqual([]);
  });

  test("stays on the remaining links if it is restored during its removal", async () => {
    const id = await addApp();
    await remove(id);
    await workOnce();
    expect(await countAttached(id)).toBe(many - 2000);
    await restore(id);
    expect(await readTasks(world.store)).toMatchObject([{ kind: `attach_${kind}` }]);
    await world.store.finishTasks();
    expect(await countAttached(id)).toBe(many);
    expect(await readTasks(world.store)).toEqual([]);
  });

  test("can be restored while another process removes it from its links", async () => {
    const id = await addApp();
    await remove(id);
    let restoring: Promise<void> | undefined;
    const worker = await openWith(world, () => {
      restoring ??= restore(id).then(() => world.store.finishTasks());
      return restoring;
    });
    await worker.finishTasks();
    expect(await countAttached(id)).toBe(many);
    await worker.close();
  });

  test("is removed from all its links if it is deleted again during its restoration", async () => {
    const id = await addApp();
    await remove(id);
    await world.store.finishTasks();
    await restore(id);
    await workOnce();
    await remove(id);
    await world.store.finishTasks();
    expect(await countAttached(id)).toBe(0);
    await restore(id);
    await world.store.finishTasks();
    expect(await countAttached(id)).toBe(many);
  });

  test("is deleted with its project even during its restoration", async () => {
    const id = await addApp();
    await remove(id);
    await world.store.finishTasks();
    await restore(id);
    await world.store.write((db) => deleteProject(db, world.project.id));
    await world.store.finishTasks();
    expect(await countAttached(id)).toBe(0);
    expect(await readTasks(world.store)).toEqual([]);
  });
});

test("a restored link can be found by parts of its words", async () => {
  const { store } = world;
  const ids = await store.write((db) => addLinks({ ...tenant(), db }, 300, { paths: "sale" }));
  await store.write((db) => createIndex({ ...tenant(), db }));
  await store.finishTasks();
  const id = ids[7] ?? "";
  const find = async () => {
    const { body } = await world.call("GET", "/links", { query: "q[path_cont]=ale-7" });
    return body.meta.count;
  };
  // The search finds sale-7, and sale-70 to sale-79.
  expect(await find()).toBe(11);
  await world.call("DELETE", `/links/${id}`);
  expect(await find()).toBe(10);
  await world.call("POST", `/links/${id}/restore`);
  expect(await find()).toBe(11);
});

describe("the bin of a project", () => {
  test("is deleted with the project, even with many rows", async () => {
    const { id } = await world.addProject();
    await fillBin(id, 1500);
    await fillBin(world.project.id, 3);
    await world.store.write((db) => deleteProject(db, id));
    await world.store.finishTasks();
    expect(await readBin(world.store)).toHaveLength(3);
  });

  test("loses rows older than 30 days while a server runs", async () => {
    const other = await world.addProject();
    await fillBin(world.project.id, 1500);
    await fillBin(other.id, 3);
    world.advance(30 * day_ms - 2 * hour_ms);
    await world.store.write(async (db) => {
      const own = { ...tenant(), db };
      await deleteLink(own, await addLink(own, "later"), world.now());
    });
    await using watcher = await watchTasks(world);
    expect(await readBin(world.store)).toHaveLength(1504);
    await watcher.lookAgain(2 * hour_ms);
    expect(await readBin(world.store)).toHaveLength(1);
    expect([watcher.errors, await readTasks(world.store)]).toEqual([[], []]);
  });
});

/** Runs background tasks, and stops after the first batch. */
async function workOnce(): Promise<void> {
  let closing: Promise<void> | undefined;
  const worker = await openWith(world, () => {
    closing ??= worker.close();
  });
  await worker.finishTasks();
  await closing;
}

async function fillBin(projectId: string, count: number): Promise<void> {
  await world.store.write(async (db) => {
    const own = { db, projectId };
    for (const id of await addLinks(own, count)) await deleteLink(own, id, world.now());
  });
}
