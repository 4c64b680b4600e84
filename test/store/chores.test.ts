import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import { describe, expect, test, vi } from "vitest";
import { openSqlite } from "../../src/sql/sqlite.ts";
import { androidAppStore, iosAppStore } from "../../src/store/apps.ts";
import { startIndex, wholeIndex } from "../../src/store/contains.ts";
import { deleteProject } from "../../src/store/projects.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import type { Tables } from "../../src/store/tables.ts";
import { readTally } from "../../src/store/tallies.ts";
import { addLink } from "../support/rows.ts";
import { createWorld, type World } from "../support/world.ts";

/** Long work in short transactions, which a process may begin and another one finish. */

/** More than two batches of any chore. */
const many = 2500;

const tenantTables = [
  "links",
  "addresses",
  "ios_apps",
  "android_apps",
  "api_keys",
  "tallies",
  "chores",
] as const;

test("a chore that fails is reported and holds up no other", async () => {
  await using world = await createWorld();
  const { store } = world;
  const broken = await world.addProject();
  const doomed = await world.addProject();
  await fill(store, broken.id, { count: 3 });
  await fill(store, doomed.id, { count: 3 });
  await store.write(async (db) => {
    // An index that is said to be begun, without the table that it would be in.
    await db
      .updateTable("tallies")
      .set({ indexed_to: "" })
      .where("project_id", "=", broken.id)
      .execute();
    const chore = { kind: "index_project", project_id: broken.id, subject: "" } as const;
    await db.insertInto("chores").values(chore).execute();
    await deleteProject(db, doomed.id);
  });
  const errors: unknown[] = [];
  store.watchChores((error) => errors.push(error));
  await vi.waitFor(async () => expect(await readLeftovers(store, doomed.id)).toEqual([]));
  expect(String(errors[0])).toContain("no such table");
});

describe("a deleted project", () => {
  test("frees its name at once, and its rows follow batch by batch", async () => {
    await using world = await createWorld();
    const { store, master } = world;
    const doomed = await world.addProject({ subdomain: "doomed" });
    const key = await world.addKey({ project: doomed });
    await world.call("POST", "/ios_apps", { key, body: iosBody });
    await fill(store, doomed.id);
    await fill(store, world.project.id, { count: 3 });

    const path = `/projects/${doomed.id}`;
    expect((await world.call("DELETE", path, { key: master })).status).toBe(204);
    expect((await world.call("GET", "/links", { key })).status).toBe(401);
    expect((await world.call("GET", path, { key: master })).status).toBe(404);
    const body = { project: { name: "Heir", subdomain: "doomed" } };
    expect((await world.call("POST", "/projects", { key: master, body })).status).toBe(201);
    expect(await countLinks(store, doomed.id)).toBe(many);

    const seen = await watchWhile(store.finishChores(), () => countLinks(store, doomed.id));
    expect(seen.filter((count) => count > 0 && count < many)).not.toEqual([]);
    expect(await readLeftovers(store, doomed.id)).toEqual([]);
    expect((await world.call("GET", "/links")).body.meta.count).toBe(3);
  });

  test("takes its search index along, and an unfinished one ends with it", async () => {
    await using world = await createWorld();
    const { store, project } = world;
    await fill(store, project.id, { count: 3 });
    await store.write((db) => startIndex({ db, projectId: project.id }));
    await store.write((db) => deleteProject(db, project.id));
    await store.finishChores();
    expect(await readLeftovers(store, project.id)).toEqual([]);
    const tables = sql`select name from sqlite_schema where name like 'links_contains%'`;
    expect((await tables.execute(store.db)).rows).toEqual([]);
  });

  test("lets no write through that was on its way when it ended", async () => {
    await using world = await createWorld();
    const { store, project } = world;
    // The key is read before the write has its turn; the project goes in between.
    const deleting = store.write(async (db) => {
      for (let turn = 0; turn < 50; turn += 1) await setImmediate();
      return deleteProject(db, project.id);
    });
    const late = await world.call("POST", "/links", { body: { path: "late" } });
    expect([await deleting, late.status]).toEqual([true, 401]);
    await store.finishChores();
    expect(await readLeftovers(store, project.id)).toEqual([]);
  });
});

const iosBody = { ios_app: { bundle_id: "com.example.app", team_id: "ABCDE12345" } };
const androidBody = { android_app: { package_name: "com.example.app", fingerprints: ["AB:CD"] } };

describe("an app with more links than one batch", () => {
  test.each([
    ["ios_app", "ios_app_bundle_id", iosBody],
    ["android_app", "android_app_package_name", androidBody],
  ])("%s is answered as deleted when all of them are detached", async (kind, field, body) => {
    await using world = await createWorld();
    const { id } = (await world.call("POST", `/${kind}s`, { body })).body;
    await fill(world.store, world.project.id, { more: { [`${kind}_id`]: id } });
    const count = async (filter: string) =>
      (await world.call("GET", "/links", { query: filter })).body.meta.count;
    expect(await count(`q[${field}_eq]=com.example.app`)).toBe(many);
    expect((await world.call("DELETE", `/${kind}s/${id}`)).status).toBe(204);
    expect(await count(`q[${field}_eq]=com.example.app`)).toBe(0);
    expect(await count(`q[${field}_null]=1`)).toBe(many);
    expect(await readChores(world.store)).toEqual([]);
  });
});

type Begin = (world: World) => Promise<void>;

describe("a chore that a killed process left", () => {
  const chores: readonly (readonly [
    string,
    Begin,
    (store: Store, id: string) => Promise<number>,
  ])[] = [
    ["a deleted project", beginPurge, countLinks],
    ["a deleted iOS app", beginDetachIos, countAttached],
    ["a deleted Android app", beginDetachAndroid, countAttached],
    ["a search index", beginIndex, countUnindexed],
  ];

  test.each(chores)("%s is finished by the next one", async (_, begin, countLeft) => {
    await using world = await createWorld();
    const { id } = world.project;
    const killed = await openAgain(world);
    await begin(world);
    expect(await countLeft(world.store, id)).toBe(many);
    const working = killed.finishChores();
    await vi.waitUntil(async () => (await countLeft(world.store, id)) < many, { interval: 1 });
    await killed.close();
    await working;
    expect(await countLeft(world.store, id)).toBeGreaterThan(0);
    expect(await readChores(world.store)).toHaveLength(1);

    const next = await openAgain(world);
    await next.finishChores();
    expect(await countLeft(world.store, id)).toBe(0);
    expect(await readChores(world.store)).toEqual([]);
    await next.close();
  });

  test.each(chores)("%s may be worked at by two at once", async (_, begin, countLeft) => {
    await using world = await createWorld();
    await begin(world);
    const other = await openAgain(world);
    await Promise.all([world.store.finishChores(), other.finishChores()]);
    expect(await countLeft(world.store, world.project.id)).toBe(0);
    expect(await readChores(world.store)).toEqual([]);
    await other.close();
  });

  test("is looked for by whoever serves", async () => {
    await using world = await createWorld();
    const { store, project } = world;
    await beginPurge(world);
    const errors: unknown[] = [];
    store.watchChores((error) => errors.push(error));
    await vi.waitUntil(async () => (await readChores(store)).length === 0, { timeout: 20_000 });
    expect(await readLeftovers(store, project.id)).toEqual([]);
    expect(errors).toEqual([]);
  });
});

async function beginPurge({ store, project }: World): Promise<void> {
  await fill(store, project.id);
  await store.write((db) => deleteProject(db, project.id));
}

async function beginDetachIos(world: World): Promise<void> {
  const { store, project } = world;
  const { id } = (await world.call("POST", "/ios_apps", { body: iosBody })).body;
  await fill(store, project.id, { more: { ios_app_id: id }, count: many + 1000 });
  await store.write((db) => iosAppStore.remove({ db, projectId: project.id }, id));
}

async function beginDetachAndroid(world: World): Promise<void> {
  const { store, project } = world;
  const { id } = (await world.call("POST", "/android_apps", { body: androidBody })).body;
  await fill(store, project.id, { more: { android_app_id: id }, count: many + 1000 });
  await store.write((db) => androidAppStore.remove({ db, projectId: project.id }, id));
}

async function beginIndex({ store, project }: World): Promise<void> {
  await fill(store, project.id);
  await store.write((db) => startIndex({ db, projectId: project.id }));
}

type Filling = { readonly count?: number; readonly more?: Parameters<typeof addLink>[2] };

/** Puts links into a project, faster than the API would. */
async function fill(store: Store, projectId: string, filling: Filling = {}): Promise<void> {
  const { count = many, more = {} } = filling;
  await store.write(async (db) => {
    for (let turn = 0; turn < count; turn += 1) {
      await addLink({ db, projectId }, `link-${turn}`, { name: `Link ${turn}`, ...more });
    }
  });
}

async function openAgain({ file, setAlarm }: World): Promise<Store> {
  return openStore(await openSqlite<Tables>(file, { applicationId: 0x57415950 }), setAlarm);
}

async function countLinks({ db }: Store, projectId: string): Promise<number> {
  const links = db.selectFrom("links").select("id").where("project_id", "=", projectId);
  return (await links.execute()).length;
}

/** Links that still name an app; in these tests none is there any more. */
async function countAttached({ db }: Store, projectId: string): Promise<number> {
  const links = await db
    .selectFrom("links")
    .select(["ios_app_id", "android_app_id"])
    .where("project_id", "=", projectId)
    .execute();
  return links.filter((link) => (link.ios_app_id ?? link.android_app_id) !== null).length;
}

async function countUnindexed({ db }: Store, projectId: string): Promise<number> {
  const { indexed_to } = await readTally({ db, projectId });
  if (indexed_to === wholeIndex) return 0;
  const links = db.selectFrom("links").select("id").where("project_id", "=", projectId);
  return (await links.where("id", ">", indexed_to ?? "").execute()).length;
}

async function readChores({ db }: Store): Promise<readonly unknown[]> {
  return db.selectFrom("chores").selectAll().execute();
}

/** The tables that still hold something of a project. */
async function readLeftovers({ db }: Store, projectId: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const table of tenantTables) {
    const { rows } = await sql`
      select 1 from ${sql.table(table)} where project_id = ${projectId} limit 1
    `.execute(db);
    if (rows.length > 0) found.push(table);
  }
  return found;
}

async function watchWhile(work: Promise<void>, look: () => Promise<number>) {
  const seen: number[] = [];
  let isOver = false;
  const working = work.then(() => (isOver = true));
  while (!isOver) {
    seen.push(await look());
    await setImmediate();
  }
  await working;
  return seen;
}
