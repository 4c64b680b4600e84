import { sql } from "kysely";
import { expect, test } from "vitest";
import { indexFrom, readTally } from "../../src/store/projects.ts";
import type { Store } from "../../src/store/store.ts";
import { createIndex, indexBatch, wholeIndex } from "../../src/store/trigram-index.ts";
import { addLink } from "../support/rows.ts";
import { createWorld, type World } from "../support/world.ts";

/** The trigram index behind `cont`: when it exists, and what it contains. */

/** Several batches of the index. */
const earlier = 520;

test("a write that makes a project large starts building the project's trigram index", async () => {
  await using world = await createWorld();
  const { store, project } = world;
  const tenant = { db: store.db, projectId: project.id };
  const find = async (term: string) =>
    (await world.call("GET", "/links", { query: `q[name_cont]=${term}` })).body.meta.count;
  const create = (name: string) => world.call("POST", "/links", { body: { name } });

  await setLinks(store, project.id, indexFrom - 2);
  await create("Spring one");
  expect(await readTally(tenant)).toMatchObject({ links: indexFrom - 1, indexed_to: null });
  await create("Spring two");
  expect(await readTally(tenant)).toMatchObject({ links: indexFrom, indexed_to: "" });
  expect(await find("spring")).toBe(2);
  await store.finishTasks();
  expect(await readTally(tenant)).toMatchObject({ indexed_to: wholeIndex });
  expect(await find("spring")).toBe(2);

  await emptyIndex(store);
  await world.addProject();
  await create("Summer");
  expect([await find("spring"), await find("sp"), await find("summer")]).toEqual([0, 2, 1]);
});

test("the trigram index returns only links of the caller's project", async () => {
  await using world = await createWorld();
  const other = await world.addProject();
  const key = await world.addKey({ project: other });
  for (const { id } of [world.project, other]) await setLinks(world.store, id, indexFrom);
  const find = async (caller: string) => {
    const reply = await world.call("GET", "/links", { key: caller, query: "q[name_cont]=spring" });
    return reply.body.links.map((link: { name: string }) => link.name);
  };
  await world.call("POST", "/links", { body: { name: "Our spring" } });
  await world.call("POST", "/links", { key, body: { name: "Their spring" } });
  await world.store.finishTasks();
  expect([await find(world.key), await find(key)]).toEqual([["Our spring"], ["Their spring"]]);
});

test("updating the most recently indexed link updates a half-built trigram index", async () => {
  await using world = await createWorld();
  const { store, project } = world;
  const tenant = { db: store.db, projectId: project.id };
  await store.write(async (db) => {
    for (let turn = 0; turn < earlier; turn += 1) {
      const name = `Link ${String(turn).padStart(4, "0")}`;
      await addLink({ ...tenant, db }, `link-${turn}`, { name });
    }
    await createIndex({ ...tenant, db });
    expect(await indexBatch({ ...tenant, db })).toBe(false);
  });
  const { indexed_to } = await readTally(tenant);
  const { name } = (await world.call("GET", `/links/${indexed_to}`)).body;
  await world.call("PATCH", `/links/${indexed_to}`, { body: { name: "Another" } });
  await store.finishTasks();
  const found = await search(world, [name, "Another"]);
  expect(found).toEqual([
    [name, 200, []],
    ["Another", 200, ["Another"]],
  ]);
});

/** Each term with the status and the names found. */
async function search({ call }: World, terms: readonly string[]): Promise<readonly unknown[]> {
  const answers = terms.map(async (term) => {
    const query = new URLSearchParams({ "q[name_cont]": term, "q[s]": "name asc" }).toString();
    const { status, body } = await call("GET", "/links", { query });
    return [term, status, body.links?.map((link: { name: string }) => link.name)];
  });
  return Promise.all(answers);
}

/** Sets the count of a project's links, so that a test need not create them. */
async function setLinks(store: Store, projectId: string, links: number): Promise<void> {
  await store.write((db) =>
    db.updateTable("tallies").set({ links }).where("project_id", "=", projectId).execute(),
  );
}

/** Empties the index. A search that still finds links does not use the index. */
async function emptyIndex(store: Store): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select name from sqlite_schema where name like 'links_contains%' and sql like '%virtual%'
  `.execute(store.db);
  await store.write(async (db) => {
    for (const { name } of rows) await sql`delete from ${sql.table(name)}`.execute(db);
  });
}
