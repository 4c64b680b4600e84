import { describe, expect, test } from "vitest";
import type { ServerAccess } from "../../src/client/client.ts";
import { collectList } from "../../src/lists/read-list.ts";
import { selectParts } from "../../src/lists/select-links.ts";
import type { FilterInput, ListInput } from "../../src/contract/filters.ts";
import type { ReadLink } from "../../src/contract/links.ts";
import { openForEach } from "../support/open-for.ts";
import { openPlanner, type Planner } from "../bulk/planner.ts";

/** Tests reading whole lists from the real service while other clients change links. */

let planner: Planner;
/** Called before each page is read, with the number of pages read so far. */
let meanwhile: (pages: number) => Promise<unknown>;
/** Changes a query as an unusual server would. */
let twist: (query: ListInput) => ListInput;
let asked: ListInput[];
let asking: ServerAccess;

openForEach(openPlanner, async (opened) => {
  planner = opened;
  meanwhile = () => Promise.resolve();
  twist = (query) => query;
  asked = [];
  const call: ServerAccess["call"] = async (endpoint, input, signal) => {
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

/** Checks that all remaining links were found. Deleted links may be found too. */
function expectAll(found: readonly ReadLink[], left: readonly string[]): void {
  const paths = pathsOf(found);
  expect(new Set(paths).size).toBe(paths.length);
  expect(left.filter((path) => !paths.includes(path))).toEqual([]);
}

describe("a list of links that changes while it is read", () => {
  test("is read in pages that overlap by one link", async () => {
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

  test.each([1, 3, 40, 170])(
    "is read completely when its first %i links are deleted",
    async (count) => {
      const made = await planner.makeMany(350, "p");
      meanwhile = async (pages) => {
        if (pages === 2) await remove(made.slice(0, count));
      };
      expectAll((await readAll()).rows, made.slice(count));
    },
  );

  test("includes links added at the end without a second read of the list", async () => {
    const made = await planner.makeMany(230, "p");
    meanwhile = async (pages) => {
      made.push(...(await planner.makeMany(2, `late${pages}-`)));
    };
    expect(pathsOf((await readAll()).rows)).toEqual(made);
    expect(asked).toHaveLength(3);
  });

  test("is read again if as many links were added as deleted", async () => {
    const made = await planner.makeMany(230, "p");
    meanwhile = async (pages) => {
      if (pages !== 1) return;
      await remove(made.splice(0, 2));
      made.push(...(await planner.makeMany(2, "late")));
    };
    expectAll((await readAll()).rows, made);
  });

  test("is read again if links were missed even though the count is correct", async () => {
    const [other = ""] = await planner.makeMany(1, "other");
    const made = await planner.makeMany(300, "spring");
    const { links } = (await planner.world.call("GET", "/links", { query: `q[path_eq]=${other}` }))
      .body;
    meanwhile = async (pages) => {
      // Ten links are deleted, so nine links are missed. Then another link matches.
      if (pages === 1) await remove(made.splice(0, 10));
      if (pages !== 2) return;
      await planner.world.call("PATCH", `/links/${links[0].id}`, { body: { name: "spring" } });
    };
    const filter = { field: "name", condition: "cont", value: "spring" } as const;
    expectAll((await readAll([filter])).rows, [other, ...made]);
  });

  test("causes an error if it never stops changing", async () => {
    await planner.makeMany(330, "p");
    let last: readonly ReadLink[] = [];
    const watching: ServerAccess = {
      ...asking,
      call: async (endpoint, input, signal) => {
        const answer = await asking.call(endpoint, input, signal);
        // Only lists of links are requested here.
        last = (answer as unknown as { readonly links: readonly ReadLink[] }).links;
        return answer;
      },
    };
    // Links that were already read are deleted, so more links are found than remain.
    meanwhile = () => remove(pathsOf(last).slice(0, 1));
    await expect(readAll([], watching)).rejects.toMatchObject({ code: "overloaded" });
  });

  test("includes every remaining link even if it shrinks faster than it is read", async () => {
    const made = await planner.makeMany(330, "p");
    meanwhile = () => remove(made.splice(0, 60));
    expectAll((await readAll()).rows, made);
    expect(made).toHaveLength(30);
  });
});

describe("a list of links from a remote server", () => {
  test("is complete even if its pages are smaller than requested", async () => {
    const made = await planner.makeMany(120, "p");
    for (const most of [1, 2, 5, 30]) {
      twist = ({ limit = 20, ...query }) => ({ ...query, limit: Math.min(limit, most) });
      expect(pathsOf((await readAll()).rows)).toEqual(made);
    }
  });

  test("is complete even if the order of links with equal creation times varies", async () => {
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

test("a list filtered by creation time contains only links created in that period", async () => {
  const begin = planner.world.now();
  const made = await planner.makeMany(160, "p");
  const at = (index: number) => new Date(begin + (index + 1) * 1000).toISOString();
  const filters = [
    { field: "created_at", condition: "gteq", value: at(10) },
    { field: "created_at", condition: "lt", value: at(150) },
  ] as const;
  expect(pathsOf((await readAll(filters)).rows)).toEqual(made.slice(10, 150));
});
