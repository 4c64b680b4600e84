import { describe, expect, test } from "vitest";
import type { Filter, ListQuery, Sort } from "../../src/contract/filters.ts";
import { readSearch } from "../../src/contract/rules/read-search.ts";
import { createIndex, wholeIndex } from "../../src/store/trigram-index.ts";
import { listLinks } from "../../src/store/link-lists.ts";
import { readTally } from "../../src/store/projects.ts";
import { openForAll } from "../support/open-for.ts";
import { addLink, now, staying } from "../support/rows.ts";
import { createWorld, type World } from "../support/world.ts";

/** Tests list counts, which are cached until a write and limited to what a caller needs. */

let world: World;
openForAll(createWorld, async (opened) => {
  world = opened;
  await world.store.write(async (db) => {
    const tenant = { db, projectId: world.project.id };
    for (let turn = 0; turn < 60; turn += 1) {
      await addLink(tenant, turn % 6 === 0 ? `größe/${turn}` : `week-${turn}`, {
        name: turn % 4 === 0 ? null : `Spring "${turn % 7}" sale`,
        social_title: turn % 5 === 0 ? "Straße" : null,
        url: `https://www.example.com/${turn % 3 === 0 ? "SPRING" : "autumn"}/${turn}`,
        now: now + turn * 1000,
      });
    }
  });
});

const searches = [
  "s",
  "sp",
  "spring",
  "EXAMPLE.com",
  "spring straße",
  "www example week",
  "gr%C3%B6%C3%9Fe",
  'sale "6"',
  "nothing-has-this",
  "spring nothing-has-this",
];
const orders: readonly Sort[] = [
  { field: "created_at", direction: "desc" },
  { field: "name", direction: "asc" },
  { field: "path", direction: "desc" },
  { field: "clicks", direction: "desc" },
];
const byName: Filter = {
  join: "and",
  tests: [{ field: "name", kind: "text", condition: "cont", value: "sale" }],
};
const byClicks: Filter = {
  join: "and",
  tests: [{ field: "clicks", kind: "integer", condition: "gteq", value: 0 }],
};

const queries = searches.flatMap((text) =>
  [[], [byName], [byClicks]].map((more): readonly Filter[] => [...readSearch(text, []), ...more]),
);

describe.each([false, true])("a list with a count limit (trigram index: %s)", (isIndexed) => {
  test("contains the same links as the list without a limit", async () => {
    const tenant = { db: world.store.db, projectId: world.project.id };
    if (isIndexed) {
      await world.store.write((db) => createIndex({ ...tenant, db }));
      await world.store.finishTasks();
      expect((await readTally(tenant)).indexed_to).toBe(wholeIndex);
    }
    const list = (query: ListQuery) => listLinks(tenant, world.store, query, staying);
    for (const filters of [...queries, [byName], [byClicks]]) {
      for (const sort of orders) {
        const query = { filters, sorts: [sort], limit: 100, page: 1 };
        const whole = await list(query);
        const ids = whole.items.map(({ id }) => id);
        for (const count_to of [0, 4, 59, 60, 1000]) {
          const counted = Math.min(whole.meta.count, count_to + 1);
          for (const page of [1, 2, 3]) {
            const cut = await list({ ...query, count_to, limit: 4, page });
            expect(cut.meta.count).toBe(counted);
            const shown = ids.slice(0, counted).slice((page - 1) * 4, page * 4);
            expect(cut.items.map(({ id }) => id)).toEqual(shown);
          }
        }
      }
    }
  });
});

test("the API returns a list's full count and ignores count_to", async () => {
  const query = "f[search]=spring&count_to=3";
  const { body } = await world.call("GET", "/links", { query });
  expect(body.meta.count).toBeGreaterThan(4);
});

test("projects with the same number of writes have separate cached counts", async () => {
  await using world = await createWorld();
  const { store, project } = world;
  const other = await world.addProject();
  const key = await world.addKey({ project: other });
  const link = (path: string, caller: string) =>
    world.call("POST", "/links", { key: caller, body: { path } });
  for (const path of ["spring-1", "spring-2", "spring-3"]) await link(path, world.key);
  const { body } = await link("spring-1", key);
  for (const path of ["spring-2", "summer"]) {
    await world.call("PATCH", `/links/${body.id}`, { key, body: { path } });
  }
  const generations = [project, other].map(async ({ id }) => {
    return (await readTally({ db: store.db, projectId: id })).generation;
  });
  expect(await Promise.all(generations)).toEqual([3, 3]);

  for (const query of ["q[path_start]=spring", "q[path_start]=spring&q[clicks_gteq]=0"]) {
    // The second round reads the cached counts.
    for (const round of [1, 2]) {
      const count = async (caller: string) =>
        (await world.call("GET", "/links", { key: caller, query })).body.meta.count;
      const counted = [await count(world.key), await count(key)];
      expect([query, round, counted]).toEqual([query, round, [3, 0]]);
    }
  }
});

test('filters joined by "and" are cached separately from filters joined by "or"', async () => {
  await using world = await createWorld();
  for (const [name, path] of [
    ["spring", "one"],
    ["other", "spring"],
    ["spring", "spring-two"],
  ]) {
    await world.call("POST", "/links", { body: { name, path } });
  }
  const queries = { "q[name_and_path_cont]=spring": 1, "q[name_or_path_cont]=spring": 3 };
  for (const [query, count] of Object.entries(queries)) {
    const { body } = await world.call("GET", "/links", { query });
    expect([query, body.meta.count]).toEqual([query, count]);
  }
});
