import { expect, test } from "vitest";
import { readTally } from "../../src/store/projects.ts";
import { createWorld } from "../support/world.ts";

/** Remembered counts of filtered lists: each belongs to one project and one filter. */

test("projects that have written equally often have separate counts", async () => {
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

test("filters joined by and are counted apart from the same ones joined by or", async () => {
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
