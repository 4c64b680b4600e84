import { describe, expect, test } from "vitest";
import { createCounts } from "../../src/store/filtered-counts.ts";
import { readTally } from "../../src/store/project-tallies.ts";
import { createWorld } from "../support/world.ts";

/** Counts of filtered lists that are kept, whose they are and how many. */

const name = (turn: number) => `shop ${turn}`;

describe("of so many counts", () => {
  test("the thousand that were kept last are there, and the first of 1,001 is gone", () => {
    const counts = createCounts();
    for (let turn = 0; turn < 1000; turn += 1) counts.remember(name(turn), 1, turn);
    expect(counts.find(name(0), 1)).toBe(0);
    counts.remember(name(1000), 1, 1000);
    expect(counts.find(name(0), 1)).toBeUndefined();
    for (let turn = 1; turn <= 1000; turn += 1) expect(counts.find(name(turn), 1)).toBe(turn);
  });

  test("one that is counted again is the youngest", () => {
    const counts = createCounts();
    for (let turn = 0; turn < 1000; turn += 1) counts.remember(name(turn), 1, turn);
    counts.remember(name(0), 2, 5);
    counts.remember(name(1000), 1, 1000);
    expect(counts.find(name(0), 2)).toBe(5);
    expect(counts.find(name(1), 1)).toBeUndefined();
  });

  test("one is valid for its own generation alone", () => {
    const counts = createCounts();
    counts.remember("shop", 2, 5);
    expect([1, 2, 3].map((generation) => counts.find("shop", generation))).toEqual([
      undefined,
      5,
      undefined,
    ]);
  });
});

test("a kept count is the project's own, where two have written equally often", async () => {
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
    // The second round is answered with what the first one kept.
    for (const round of [1, 2]) {
      const count = async (caller: string) =>
        (await world.call("GET", "/links", { key: caller, query })).body.meta.count;
      const counted = [await count(world.key), await count(key)];
      expect([query, round, counted]).toEqual([query, round, [3, 0]]);
    }
  }
});

test("filters that are joined in another way have a count of their own", async () => {
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
