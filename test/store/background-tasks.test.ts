import { sql, type KyselyPlugin } from "kysely";
import { describe, expect, test } from "vitest";
import { androidAppStore, iosAppStore } from "../../src/store/apps.ts";
import { runTasks, type TaskWork } from "../../src/store/background-tasks.ts";
import { deleteProject, readTally } from "../../src/store/projects.ts";
import { openStore, StoreBusy, type Store } from "../../src/store/store.ts";
import { createIndex, wholeIndex } from "../../src/store/trigram-index.ts";
import { openWith, watchTasks } from "./task-stores.ts";
import { createGate } from "../support/clock.ts";
import { readProjectRows, addLink, addLinks, makeId } from "../support/rows.ts";
import { isOnPostgres } from "../support/store-place.ts";
import { createWorld, type World } from "../support/world.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests background tasks, which split long work into short transactions of any process. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

/** PostgreSQL builds its text indexes itself, without background tasks. */
const onFile = test.skipIf(isOnPostgres);

/** Enough links for more than two batches of any task. */
const many = 2500;

onFile("a failed background task is reported and retried, and delays no other task", async () => {
  const { store } = world;
  const broken = await world.addProject();
  const doomed = await world.addProject();
  await fill(store, broken.id, { count: 3 });
  await fill(store, doomed.id, { count: 3 });
  await store.write(async (db) => {
    // Mark the index as started, although its table is missing.
    await db
      .updateTable("tallies")
      .set({ indexed_to: "" })
      .where("project_id", "=", broken.id)
      .execute();
    const task = { kind: "index_project", project_id: broken.id, subject: "" } as const;
    await db.insertInto("chores").values(task).execute();
    await deleteProject(db, doomed.id);
  });
  await using watcher = await watchTasks(world);
  expect(await readLeftovers(store, doomed.id)).toEqual([]);
  expect(watcher.errors.map(String)).toEqual([expect.stringContaining("no such table")]);
  await store.write((db) => createIndex({ db, projectId: broken.id }));
  await watcher.lookAgain();
  expect(watcher.errors).toHaveLength(1);
  expect(await readTasks(store)).toEqual([]);
  expect(await countUnindexed(store, broken.id)).toBe(0);
});

test("a process that polls for tasks does not report an unreachable database", async () => {
  const sql = await world.openSql();
  const away: KyselyPlugin = {
    transformQuery: () => {
      throw new StoreBusy("no server", { outage: "away" });
    },
    transformResult: ({ result }) => Promise.resolve(result),
  };
  const errors: unknown[] = [];
  const store = { ...sql, db: sql.db.withPlugin(away) };
  const { signal } = new AbortController();
  // No task can be read, so the work is never called.
  await runTasks(store, {} as TaskWork, signal, (error) => errors.push(error));
  expect(errors).toEqual([]);
});

describe("deleting a project", () => {
  test("releases its name immediately and deletes its rows in batches", async () => {
    const { store, master } = world;
    const doomed = await world.addProject({ subdomain: "doomed" });
    const key = await world.addKey({ project: doomed });
    await world.call("POST", "/ios_apps", { key, body: iosBody });
    await world.call("POST", "/android_apps", { key, body: androidBody });
    const template = { body: "{% store_buttons %}", css: "" };
    await world.call("POST", "/page_template/publish", { key, body: template });
    const { id } = (await world.call("POST", "/links", { key, body: { path: "gone" } })).body;
    await world.call("DELETE", `/links/${id}`, { key });
    await fill(store, doomed.id);
    expect(await readLeftovers(store, doomed.id)).toEqual([
      "links",
      "addresses",
      "bin",
      "ios_apps",
      "android_apps",
      "tallies",
      "page_templates",
      "page_template_versions",
      "api_keys",
    ]);
    await fill(store, world.project.id, { count: 3 });

    const path = `/projects/${doomed.id}`;
    expect((await world.call("DELETE", path, { key: master })).status).toBe(204);
    expect((await world.call("GET", "/links", { key })).status).toBe(401);
    expect((await world.call("GET", path, { key: master })).status).toBe(404);
    const body = { project: { name: "Heir", subdomain: "doomed" } };
    expect((await world.call("POST", "/projects", { key: master, body })).status).toBe(201);
    expect(await countLinks(store, doomed.id)).toBe(many);

    const seen: number[] = [];
    const worker = await openWith(world, async () => {
      seen.push(await countLinks(store, doomed.id));
    });
    await worker.finishTasks();
    await worker.close();
    expect(seen.slice(0, 3)).toEqual([many - 1000, many - 2000, 0]);
    expect(await readLeftovers(store, doomed.id)).toEqual([]);
    expect((await world.call("GET", "/links")).body.meta.count).toBe(3);
  });

  test("deletes nothing in another project that uses the same paths", async () => {
    const { store, project } = world;
    const doomed = await world.addProject();
    for (const { id } of [project, doomed]) {
      await fill(store, id, { count: 3 });
      const more = { shortened_path: "short" };
      await store.write((db) => addLink({ db, projectId: id }, "long", more));
    }
    const before = await readProjectRows(store, project.id);
    await store.write((db) => deleteProject(db, doomed.id));
    await store.finishTasks();
    expect(await readLeftovers(store, doomed.id)).toEqual([]);
    expect(await readProjectRows(store, project.id)).toEqual(before);
  });

  onFile("deletes the project's search index, even an unfinished one", async () => {
    const { store, project } = world;
    await fill(store, project.id, { count: 3 });
    await store.write((db) => createIndex({ db, projectId: project.id }));
    await store.write((db) => deleteProject(db, project.id));
    await store.finishTasks();
    expect(await readLeftovers(store, project.id)).toEqual([]);
    const tables = sql`select name from sqlite_schema where name like 'links_contains%'`;
    expect((await tables.execute(store.db)).rows).toEqual([]);
  });

  test("rejects a write that is already queued for that project", async () => {
    const { store, project } = world;
    const held = createGate();
    const deleting = store.write(async (db) => {
      await held.opened;
      return deleteProject(db, project.id);
    });
    // Delete the project after the key is read and before the write starts.
    const writing = world.call("POST", "/links", { body: { path: "late" } });
    expect((await world.call("GET", "/links")).status).toBe(200);
    held.open();
    expect([await deleting, (await writing).status]).toEqual([true, 401]);
    await store.finishTasks();
    expect(await readLeftovers(store, project.id)).toEqual([]);
  });
});

const iosBody = { ios_app: { bundle_id: "com.example.app", team_id: "ABCDE12345" } };
const androidBody = { android_app: { package_name: "com.example.app", fingerprints: ["AB:CD"] } };

describe("deleting an app with more links than fit in one batch", () => {
  test.each([
    ["ios_app", "ios_app_bundle_id", iosBody],
    ["android_app", "android_app_package_name", androidBody],
  ])("removes the %s from all its links before the response is sent", async (kind, field, body) => {
    const { id } = (await world.call("POST", `/${kind}s`, { body })).body;
    await fill(world.store, world.project.id, { more: { [`${kind}_id`]: id } });
    const count = async (filter: string) =>
      (await world.call("GET", "/links", { query: filter })).body.meta.count;
    expect(await count(`q[${field}_eq]=com.example.app`)).toBe(many);
    expect((await world.call("DELETE", `/${kind}s/${id}`)).status).toBe(204);
    expect(await count(`q[${field}_eq]=com.example.app`)).toBe(0);
    expect(await count(`q[${field}_null]=1`)).toBe(many);
    expect(await readTasks(world.store)).toEqual([]);
  });

  test("gets a response after five seconds and leaves the remaining links for later", async () => {
    const { store, project } = world;
    await beginDetachIos(world);
    const [task] = await store.db.selectFrom("chores").selectAll().execute();
    if (task === undefined) throw new Error("there is no task");
    const countBare = async () => {
      const query = "q[ios_app_bundle_id_null]=1";
      return (await world.call("GET", "/links", { query })).body.meta.count;
    };
    const slow = await openWith(world, () => world.advance(3000));
    await slow.finishTask(task, 5000);
    expect(await countAttached(store, project.id)).toBe(many - 2000);
    expect(await countBare()).toBe(3000);
    await slow.close();
    expect(await readTasks(store)).toEqual([task]);
    await store.finishTasks();
    expect(await countAttached(store, project.id)).toBe(0);
    expect(await countBare()).toBe(many + 1000);
  });
});

const bareApp = {
  name: null,
  team_id: "ABCDE12345",
  app_store_id: null,
  clip_bundle_id: null,
  custom_scheme: null,
} as const;

type TaskStart = (world: World) => Promise<void>;

describe("a background task", () => {
  const tasks: readonly (readonly [
    string,
    TaskStart,
    (store: Store, id: string) => Promise<number>,
  ])[] = [
    ["delete a project's rows", beginPurge, countLinks],
    ["remove a deleted iOS app from links", beginDetachIos, countAttached],
    ["remove a deleted Android app from links", beginDetachAndroid, countAttached],
    ...(isOnPostgres ? [] : [["build a search index", beginIndex, countUnindexed] as const]),
  ];

  test.each(tasks)(
    "is finished by another process if its process is killed: %s",
    async (_, begin, countLeft) => {
      const { id } = world.project;
      await begin(world);
      expect(await countLeft(world.store, id)).toBe(many);
      let closing: Promise<void> | undefined;
      const killed = await openWith(world, () => {
        closing ??= killed.close();
      });
      await killed.finishTasks();
      await closing;
      expect(await countLeft(world.store, id)).toBeLessThan(many);
      expect(await countLeft(world.store, id)).toBeGreaterThan(0);
      expect(await readTasks(world.store)).toHaveLength(1);

      const next = await openAgain(world);
      await next.finishTasks();
      expect(await countLeft(world.store, id)).toBe(0);
      expect(await readTasks(world.store)).toEqual([]);
      await next.close();
    },
  );

  test.each(tasks)(
    "is completed correctly even if two processes run it at once: %s",
    async (_, begin, countLeft) => {
      await begin(world);
      const other = await openAgain(world);
      await Promise.all([world.store.finishTasks(), other.finishTasks()]);
      expect(await countLeft(world.store, world.project.id)).toBe(0);
      expect(await readTasks(world.store)).toEqual([]);
      await other.close();
    },
  );

  test("is not removed when another task of the same kind finishes", async () => {
    const { store, project } = world;
    const other = await world.addProject();
    for (const [{ id: projectId }, bundle_id] of [
      [project, "com.example.one"],
      [project, "com.example.two"],
      [other, "com.example.one"],
    ] as const) {
      const app = { ...bareApp, bundle_id };
      await store.write(async (db) => {
        const tenant = { db, projectId };
        const { id } = await iosAppStore.insert(tenant, makeId(), app, 0);
        // Use one more link than the deletion itself handles.
        await addLinks(tenant, 1001, { ios_app_id: id, paths: bundle_id });
        await iosAppStore.remove(tenant, id, 0);
      });
    }
    expect(await readTasks(store)).toHaveLength(3);
    let closing: Promise<void> | undefined;
    const killed = await openWith(world, () => {
      closing ??= killed.close();
    });
    await killed.finishTasks();
    await closing;
    expect(await readTasks(store)).toHaveLength(2);
    await store.finishTasks();
    for (const { id } of [project, other]) expect(await countAttached(store, id)).toBe(0);
  });

  test("is run by a server that was already running when the task was queued", async () => {
    const { store, project } = world;
    await beginPurge(world);
    await using watcher = await watchTasks(world);
    expect(await readLeftovers(store, project.id)).toEqual([]);
    for (const turn of [1, 2]) {
      const { id } = await world.addProject({ subdomain: `later-${turn}` });
      await fill(store, id, { count: 3 });
      await store.write((db) => deleteProject(db, id));
      await watcher.lookAgain();
      expect(await readLeftovers(store, id)).toEqual([]);
    }
    expect(watcher.errors).toEqual([]);
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
  await store.write((db) => iosAppStore.remove({ db, projectId: project.id }, id, 0));
}

async function beginDetachAndroid(world: World): Promise<void> {
  const { store, project } = world;
  const { id } = (await world.call("POST", "/android_apps", { body: androidBody })).body;
  await fill(store, project.id, { more: { android_app_id: id }, count: many + 1000 });
  await store.write((db) => androidAppStore.remove({ db, projectId: project.id }, id, 0));
}

async function beginIndex({ store, project }: World): Promise<void> {
  await fill(store, project.id);
  await store.write((db) => createIndex({ db, projectId: project.id }));
}

type FillOptions = { readonly count?: number; readonly more?: Parameters<typeof addLink>[2] };

/** Writes links directly, which is faster than the API. */
async function fill(store: Store, projectId: string, filling: FillOptions = {}): Promise<void> {
  const { count = many, more = {} } = filling;
  await store.write((db) => addLinks({ db, projectId }, count, more));
}

async function openAgain({ openSql, setAlarm }: World): Promise<Store> {
  return openStore(await openSql(), setAlarm);
}

async function countLinks({ db }: Store, projectId: string): Promise<number> {
  const links = db.selectFrom("links").select("id").where("project_id", "=", projectId);
  return (await links.execute()).length;
}

/** Counts the links that still have an app. */
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

async function readTasks({ db }: Store): Promise<readonly unknown[]> {
  return db.selectFrom("chores").selectAll().execute();
}

async function readLeftovers(store: Store, projectId: string): Promise<readonly string[]> {
  return [...(await readProjectRows(store, projectId)).keys()];
}
