import { describe, expect, test } from "vitest";
import type { Asking } from "../../../src/bulk/owner.ts";
import { collectList, ListChanging } from "../../../src/bulk/select/read-list.ts";
import { selectParts } from "../../../src/bulk/select/select-links.ts";
import type { FilterInput, ListInput } from "../../../src/contract/filters.ts";
import type { ReadLink } from "../../../src/contract/links.ts";
import { openForEach } from "../../support/open-for.ts";
import { openPlanner, type Planner } from "../planner.ts";

/** Whole lists, read from the real service while others add and delete links. */

let planner: Planner;
/** Called before each page is read, with how many were read before. */
let meanwhile: (pages: number) => Promise<unknown>;
/** What the deployment makes of a query. */
let twist: (query: ListInput) => ListInput;
let asked: ListInput[];
let asking: Asking;

openForEach(openPlanner, async (opened) => {
  planner = opened;
  meanwhile = () => Promise.resolve();
  twist = (query) => query;
  asked = [];
  const call: Asking["call"] = async (endpoint, input, signal) => {
    // Only lists are read here.
    const query = input as ListInput;
    await meanwhile(asked.length);
    asked.push(query);
    return planner.owner.call(endpoint, twist(query) as typeof input, signal);
  };
  asking = { call, signal: new AbortController().signal };
});

async function remove(paths: readonly string[]): Promise<void> {
  const all = await planner.world.store.db.selectFrom("links").select(["id", "path"]).execute();
  const gone = all.filter(({ path }) => paths.includes(path));
  for (const { id } of gone) await planner.world.call("DELETE", `/links/${id}`);
}

const pathsOf = (links: readonly ReadLink[]) => links.flatMap(({ path }) => path ?? []);
const readAll = (filters: readonly FilterInput[] = [], by = asking) =>
  collectList(selectParts(by, filters));

/** Links that were deleted after they were read may be found too. */
function expectAll(found: readonly ReadLink[], left: readonly string[]): void {
  const paths = pathsOf(found);
  expect(new Set(paths).size).toBe(paths.length);
  expect(left.filter((path) => !paths.includes(path))).toEqual([]);
}

describe("a list that others write to", () => {
  test("is read with an overlap: each page begins with a link of the page before", async () => {
    const made = await planner.makeMany(350, "p");
    expect(pathsOf((await readAll()).rows)).toEqual(made);
    const ranges = asked.map(({ page = 1, limit = 0 }) => [(page - 1) * limit, page * limit]);
    expect(ranges[0]).toEqual([0, 100]);
    for (const [index, [start = 0, end = 0]] of ranges.entries()) {
      const reached = ranges[index - 1]?.[1];
      if (reached === undefined) continue;
      expect(start).toBeLessThan(reached);
      expect(end).toBeGreaterThan(reached);
    }
  });

  test.each([1, 3, 40, 170])("loses no link when %i before it are deleted", async (count) => {
    const made = await planner.makeMany(350, "p");
    meanwhile = async (pages) => {
      if (pages === 2) await remove(made.slice(0, count));
    };
    expectAll((await readAll()).rows, made.slice(count));
  });

  test("has what was added behind, and needs no second look for that", async () => {
    const made = await planner.makeMany(230, "p");
    meanwhile = async (pages) => {
      made.push(...(await planner.makeMany(2, `late${pages}-`)));
    };
    expect(pathsOf((await readAll()).rows)).toEqual(made);
    expect(asked).toHaveLength(3);
  });

  test("is read once more where as many came as went", async () => {
    const made = await planner.makeMany(230, "p");
    meanwhile = async (pages) => {
      if (pages !== 1) return;
      await remove(made.splice(0, 2));
      made.push(...(await planner.makeMany(2, "late")));
    };
    expectAll((await readAll()).rows, made);
  });

  test("is not passed for whole where the numbers agree by chance", async () => {
    const [other = ""] = await planner.makeMany(1, "other");
    const made = await planner.makeMany(300, "spring");
    const { links } = (await planner.world.call("GET", "/links", { query: `q[path_eq]=${other}` }))
      .body;
    meanwhile = async (pages) => {
      // Ten are gone, and nine slip through; then one more is named, behind what was read.
      if (pages === 1) await remove(made.splice(0, 10));
      if (pages !== 2) return;
      await planner.world.call("PATCH", `/links/${links[0].id}`, { body: { name: "spring" } });
    };
    const filter = { field: "name", condition: "cont", value: "spring" } as const;
    expectAll((await readAll([filter])).rows, [other, ...made]);
  });

  test("and never holds still is not passed for a whole one", async () => {
    await planner.makeMany(330, "p");
    let last: readonly ReadLink[] = [];
    const watching: Asking = {
      ...asking,
      call: async (endpoint, input, signal) => {
        const answer = await asking.call(endpoint, input, signal);
        // A list of links is all that is asked for here.
        last = (answer as unknown as { readonly links: readonly ReadLink[] }).links;
        return answer;
      },
    };
    // One that was read already goes each time, so that too many are found.
    meanwhile = () => remove(pathsOf(last).slice(0, 1));
    await expect(readAll([], watching)).rejects.toThrow(ListChanging);
  });

  test("has every remaining link, even if it shrinks faster than it is read", async () => {
    const made = await planner.makeMany(330, "p");
    meanwhile = () => remove(made.splice(0, 60));
    expectAll((await readAll()).rows, made);
    expect(made).toHaveLength(30);
  });
});

describe("a deployment of its own ways", () => {
  test("may have smaller pages than are asked for", async () => {
    const made = await planner.makeMany(120, "p");
    for (const most of [1, 2, 5, 30]) {
      twist = ({ limit = 20, ...query }) => ({ ...query, limit: Math.min(limit, most) });
      expect(pathsOf((await readAll()).rows)).toEqual(made);
    }
  });

  test("may mix up the links of one moment: by their paths they have an order", async () => {
    const made = await planner.makeMany(230, "p", 0);
    let turn = 0;
    twist = (query) => {
      turn += 1;
      if (query.sort?.field !== "created_at") return query;
      return { ...query, sort: { field: "path", direction: turn % 2 === 0 ? "asc" : "desc" } };
    };
    expect(pathsOf((await readAll()).rows).toSorted()).toEqual(made.toSorted());
  });
});

test("the links that filters name keep to the times that were asked for", async () => {
  const begin = planner.world.now();
  const made = await planner.makeMany(160, "p");
  const at = (index: number) => new Date(begin + (index + 1) * 1000).toISOString();
  const filters = [
    { field: "created_at", condition: "gteq", value: at(10) },
    { field: "created_at", condition: "lt", value: at(150) },
  ] as const;
  expect(pathsOf((await readAll(filters)).rows)).toEqual(made.slice(10, 150));
});
