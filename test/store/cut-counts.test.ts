import { describe, expect, test } from "vitest";
import type { Filter, ListQuery, Sort } from "../../src/contract/filters.ts";
import { readSearch } from "../../src/contract/rules/read-search.ts";
import { wholeIndex } from "../../src/store/engines/link-search.ts";
import { listLinks } from "../../src/store/links.ts";
import { readTally } from "../../src/store/project-tallies.ts";
import { createIndex } from "../../src/store/trigram-index.ts";
import { openForAll } from "../support/open-for.ts";
import { addLink, now, staying } from "../support/rows.ts";
import { isOnPostgres } from "../support/store-place.ts";
import { createWorld, type World } from "../support/world.ts";

/** Lists whose links are counted so far and no further: the same links in the same places. */

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

describe.each([false, true])("with an index of texts: %s", (isIndexed) => {
  test("a list that is counted no further has the links of one that is", async () => {
    const tenant = { db: world.store.db, projectId: world.project.id };
    if (isIndexed) {
      await world.store.write((db) => createIndex({ ...tenant, db }));
      await world.store.finishChores();
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

test.skipIf(isOnPostgres)("links that most others are like are met along the list", async () => {
  const statements: string[] = [];
  const db = world.store.db.withPlugin({
    transformQuery: ({ node }) => {
      statements.push(JSON.stringify(node));
      return node;
    },
    transformResult: ({ result }) => Promise.resolve(result),
  });
  const tenant = { db, projectId: world.project.id };
  const sorts: readonly Sort[] = [{ field: "name", direction: "asc" }];
  const query = { filters: [byClicks], sorts, limit: 4, page: 1 };
  const readIndex = async (count_to: number) => {
    statements.length = 0;
    await listLinks(tenant, world.store, { ...query, count_to }, staying);
    return statements.some((text) => text.includes("indexed by") && text.includes("links_name"));
  };
  // Of sixty links, eleven may be far from each other, and forty are not.
  expect([await readIndex(10), await readIndex(40)]).toEqual([false, true]);
});

test("nobody but the console has less counted", async () => {
  const query = "f[search]=spring&count_to=3";
  const { body } = await world.call("GET", "/links", { query });
  expect(body.meta.count).toBeGreaterThan(4);
});
