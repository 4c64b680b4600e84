import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { androidAppStore, iosAppStore } from "../../src/store/apps.ts";
import { deleteLink } from "../../src/store/links.ts";
import { deleteProject } from "../../src/store/projects.ts";
import type { Store } from "../../src/store/store.ts";
import { createIndex } from "../../src/store/trigram-index.ts";
import { openWith, watchTasks } from "./task-stores.ts";
import { openForEach } from "../support/open-for.ts";
import { addLink, addLinks } from "../support/rows.ts";
import { isOnPostgres } from "../support/store-place.ts";
import { createWorld, type World } from "../support/world.ts";

/** Tests the bin, which stores deleted records and restores them. */

/** Enough links for more than two batches of any task. */
const many = 2500;
const hour_ms = 60 * 60 * 1000;
const day_ms = 24 * hour_ms;

let world: World;
openForEach(createWorld, (opened) => (world = opened));

const iosBody = { ios_app: { bundle_id: "com.example.app", team_id: "ABCDE12345" } };
const androidBody = { android_app: { package_name: "com.example.app", fingerprints: ["AB:CD"] } };

const tenant = () => ({ db: world.store.db, projectId: world.project.id });
const readTasks = ({ db }: Store) => db.selectFrom("chores").selectAll().execute();
const readBin = ({ db }: Store) => db.selectFrom("bin").select("id").execute();

const kinds = [
  ["ios_app", iosBody],
  ["android_app", androidBody],
] as const;

// The queries of both kinds differ only in the name of a column, so PostgreSQL runs one kind.
describe.each(isOnPostgres ? kinds.slice(0, 1) : kinds)("the bin (%s)", (kind, body) => {
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

  test("restoring an app reattaches it to all 2,500 links before the server responds", async () => {
    const id = await addApp();
    expect((await world.call("DELETE", `/${kind}s/${id}`)).status).toBe(204);
    expect(await countAttached(id)).toBe(0);
    expect((await world.call("POST", `/${kind}s/${id}/restore`)).status).toBe(200);
    expect(await countAttached(id)).toBe(many);
    expect(await readTasks(world.store)).toEqual([]);
  });

  test("restoring an app during its removal from links reattaches it to all of them", async () => {
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

  test("an app can be restored while another process is removing it from its links", async () => {
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

  test("deleting an app again while it is being restored removes it from all links", async () => {
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

  test("an app is deleted with its project even while it is being restored", async () => {
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

test("a restored link can be found by a substring of its path", async () => {
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

// Until PostgreSQL has counted new rows, it may choose a plan that reads them again and again.
test.runIf(isOnPostgres)("a batch of an app's links reads each link only a few times", async () => {
  const { db, projectId } = tenant();
  const { id: other } = await world.addProject();
  await world.store.write((db) => addLinks({ db, projectId: other }, many));
  await sql`analyze links`.execute(db);
  const { id } = (await world.call("POST", "/ios_apps", { body: iosBody })).body;
  await world.store.write((db) => addLinks({ db, projectId }, many, { ios_app_id: id }));
  const reads = await world.store.write(async (db) => {
    await iosAppStore.remove({ db, projectId }, id, world.now());
    const { rows } = await sql<{ reads: number }>`
      select idx_tup_fetch + seq_tup_read as reads from pg_stat_xact_user_tables
      where relname = 'links'
    `.execute(db);
    return Number(rows[0]?.reads);
  });
  expect(reads).toBeLessThan(4 * many);
});

describe("a project's bin", () => {
  test("is deleted with the project, even if it contains many rows", async () => {
    const { id } = await world.addProject();
    await fillBin(id, 1500);
    await fillBin(world.project.id, 3);
    await world.store.write((db) => deleteProject(db, id));
    await world.store.finishTasks();
    expect(await readBin(world.store)).toHaveLength(3);
  });

  test("is cleared of rows older than 30 days while a server runs", async () => {
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
