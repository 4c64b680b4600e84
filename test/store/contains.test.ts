import * as fc from "fast-check";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { fold } from "../../src/contract/text.ts";
import { indexFrom, readTally } from "../../src/store/projects.ts";
import type { Store } from "../../src/store/store.ts";
import { createIndex, indexBatch, wholeIndex } from "../../src/store/trigram-index.ts";
import { addLink } from "../support/rows.ts";
import { createWorld, type World } from "../support/world.ts";

/** Tests the trigram index for `cont`. Results must be the same with and without the index. */

const words = [
  "Ärger",
  "straße",
  'a"b"c',
  "100%_off",
  "x\\y",
  "日本語の店",
  "👩‍🚀🚀🌍",
  "Σίσυφος",
  "ab",
];
const fields = ["name", "path", "shortened_path"] as const;

test("the write that makes a project large enough starts its trigram index", async () => {
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

test("a change of the last indexed link updates a half-built trigram index", async () => {
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

test("unusual search terms find the same links with and without the trigram index", async () => {
  await using world = await createWorld();
  const names = [...words, "plain name", "NEAR(a b)", "name:abc", "abc AND def", "^abc*", "{abc}"];
  for (const name of names) await world.call("POST", "/links", { body: { name } });
  const strange = [
    '"',
    '""',
    "'''",
    "\\\\\\",
    "***",
    "abc*",
    "^abc",
    "AND",
    "name:",
    "NEAR(",
    "a b",
  ];
  const folded = [
    "a\u0301bc",
    "A\u0308rger",
    "🚀🌍",
    "%%%",
    "___",
    "ABC",
    "plain  name",
    "STRASSE",
  ];
  const terms = [...names, ...strange, ...folded];
  const scanned = await search(world, terms);
  await buildIndex(world);
  expect(await search(world, terms)).toEqual(scanned);
  expect(world.reported).toEqual([]);
});

test("a search for a NUL finds no links, with or without the trigram index", async () => {
  await using world = await createWorld();
  for (const name of ["abc", "abcdef"]) await world.call("POST", "/links", { body: { name } });
  const terms = ["\0", "\0\0\0", "abc\0def", "abc\0"];
  const nothing = terms.map((term) => [term, 200, []]);
  expect(await search(world, terms)).toEqual(nothing);
  await buildIndex(world);
  expect(await search(world, terms)).toEqual(nothing);
});

/** Returns each term with the status and the names of the found links. */
async function search({ call }: World, terms: readonly string[]): Promise<readonly unknown[]> {
  const answers = terms.map(async (term) => {
    const query = new URLSearchParams({ "q[name_cont]": term, "q[s]": "name asc" }).toString();
    const { status, body } = await call("GET", "/links", { query });
    return [term, status, body.links?.map((link: Found) => link.name)];
  });
  return Promise.all(answers);
}

async function buildIndex(world: World): Promise<void> {
  await setLinks(world.store, world.project.id, indexFrom);
  await world.call("POST", "/links", { body: { path: "crossing" } });
  await world.store.finishTasks();
}

type Act = "create" | "rename" | "move" | "shorten" | "delete" | "build";
type Step = { readonly act: Act; readonly at: number; readonly word: string; readonly end: string };

const step: fc.Arbitrary<Step> = fc.record({
  act: fc.constantFrom<Act>("create", "create", "rename", "move", "shorten", "delete", "build"),
  at: fc.nat(10_000),
  word: fc.constantFrom(...words),
  end: fc.constantFrom(...words, "", "-Spring"),
});
const steps = fc.array(step, { maxLength: 12 });

/** Enough links for several batches of the index. */
const earlier = 520;

test("links that change before, during or after building the trigram index are found", async () => {
  await using world = await createWorld();
  await fc.assert(
    fc.asyncProperty(steps, steps, steps, async (before, during, after) => {
      const history = await begin(world);
      await history.take(before);
      await history.expectSame();
      await setLinks(world.store, history.projectId, indexFrom);
      await history.take([{ act: "create", at: 0, word: "crossing", end: "" }, ...during]);
      await history.expectSame();
      await world.store.finishTasks();
      const tally = await readTally({ db: world.store.db, projectId: history.projectId });
      expect(tally.indexed_to).toBe(wholeIndex);
      await history.expectSame();
      await history.take(after);
      await history.expectSame();
    }),
    { numRuns: 8 },
  );
  expect(world.reported).toEqual([]);
});

type Found = { readonly id: string } & Readonly<Record<(typeof fields)[number], string | null>>;

/** Creates a project with links, and predicts what a search without the index finds. */
async function begin(world: World) {
  const { store } = world;
  const project = await world.addProject();
  const key = await world.addKey({ project });
  const tenant = { projectId: project.id };
  const model = new Map<string, Found>();
  let turns = 0;
  await store.write(async (db) => {
    for (let turn = 0; turn < earlier; turn += 1) {
      const [name, path] = [`Old ${turn}`, `old-${turn}`];
      const id = await addLink({ db, ...tenant }, path, { name });
      model.set(id, { id, name, path, shortened_path: null });
    }
  });

  async function take(some: readonly Step[]): Promise<void> {
    for (const { act, at, word, end } of some) {
      turns += 1;
      const id = [...model.keys()][at % model.size] ?? "";
      const text = word + end;
      const path = `${text.replaceAll(/[\\%]/g, "-")}${turns}`;
      if (act === "build") await store.write((db) => indexBatch({ db, ...tenant }));
      if (act === "create") await keep("POST", "/links", { name: text, path });
      if (act === "rename") await keep("PATCH", `/links/${id}`, { name: text });
      if (act === "move") await keep("PATCH", `/links/${id}`, { path });
      if (act === "shorten") await shorten(id);
      if (act === "delete") {
        await world.call("DELETE", `/links/${id}`, { key });
        model.delete(id);
      }
    }
  }

  async function keep(method: string, path: string, body: object): Promise<void> {
    const reply = await world.call(method, path, { key, body });
    expect(reply.status).toBeLessThan(300);
    model.set(reply.body.id, reply.body);
  }

  function shorten(id: string): Promise<void> {
    const path = encodeURIComponent(model.get(id)?.path ?? "");
    const url = `http://${project.subdomain}.localhost:8787/${path}`;
    return keep("POST", "/short_links", { url, prefix: "spring-" });
  }

  async function expectSame(): Promise<void> {
    for (const term of [
      "ÄRGER",
      "straße",
      'A"B',
      "日本語",
      "🚀🚀🌍",
      "ίσυφος",
      "ab",
      "ing-",
      "old 1",
    ]) {
      for (const field of fields) {
        const wanted = [...model.values()].filter((link) =>
          fold(link[field] ?? "").includes(fold(term)),
        );
        const query = new URLSearchParams({ [`q[${field}_cont]`]: term, limit: "100" }).toString();
        const { body } = await world.call("GET", "/links", { key, query });
        expect([term, field, body.meta.count]).toEqual([term, field, wanted.length]);
        const ids = new Set(wanted.map((link) => link.id));
        expect(body.links.filter((link: Found) => !ids.has(link.id))).toEqual([]);
      }
    }
  }

  return { projectId: project.id, take, expectSame };
}

/** Sets the link count of a project without creating links. */
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
