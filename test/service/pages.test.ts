import { describe, expect, test } from "vitest";
import { createWorld, type World } from "../support/world.ts";
import { openForAll, openForEach } from "../support/open-for.ts";

/** Tests the pages of a list and the numbers in `meta`. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

type List = {
  readonly name: string;
  readonly add: (world: World, index: number) => Promise<unknown>;
};

const lists: readonly List[] = [
  {
    name: "links",
    add: (world, index) => world.call("POST", "/links", { body: { name: `Link ${index}` } }),
  },
  {
    name: "ios_apps",
    add: (world, index) => {
      const ios_app = { bundle_id: `com.example.app${index}`, team_id: "ABCDE12345" };
      return world.call("POST", "/ios_apps", { body: { ios_app } });
    },
  },
  {
    name: "android_apps",
    add: (world, index) => {
      const android_app = { package_name: `com.example.app${index}`, fingerprints: ["AA:BB"] };
      return world.call("POST", "/android_apps", { body: { android_app } });
    },
  },
  {
    name: "projects",
    add: (world, index) =>
      world.call("POST", "/projects", {
        key: world.master,
        body: { project: { name: `Project ${index}`, subdomain: `added-${index}` } },
      }),
  },
];

async function read(world: World, { name }: Pick<List, "name">, query = "") {
  const key = name === "projects" ? world.master : world.key;
  const { status, body } = await world.call("GET", `/${name}`, { key, query });
  return { status, body, meta: body.meta, items: body[name] };
}

/** Adds records until the list has `count`. The list of projects starts with one project. */
async function fill(world: World, list: List, count: number) {
  const { meta } = await read(world, list);
  for (let index = meta.count; index < count; index += 1) await list.add(world, index);
}

async function readPages(world: World, list: List, limit: number) {
  const { last } = (await read(world, list, `limit=${limit}`)).meta;
  const found: { readonly id: string }[] = [];
  for (let page = 1; page <= last; page += 1) {
    found.push(...(await read(world, list, `limit=${limit}&page=${page}`)).items);
  }
  return found;
}

describe.each(lists)("GET /$name", (list) => {
  let filled: World;
  const count = 102;

  openForAll(createWorld, async (opened) => {
    filled = opened;
    await fill(filled, list, count);
  });

  test("returns 20 items and a meta object by default", async () => {
    const { status, body, items, meta } = await read(filled, list);
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual([list.name, "meta"]);
    expect(items).toHaveLength(20);
    expect(meta).toEqual({ page: 1, limit: 20, count, last: 6, from: 1, to: 20, next: 2 });
  });

  test("returns a correct meta object for each page and limit", async () => {
    const all = { limit: 20, count, last: 6 };
    const lastItem = { count, limit: 34, last: 3, page: 3, from: 69, to: 102, previous: 2 };
    const cases = [
      ["page=2", 20, { ...all, page: 2, from: 21, to: 40, previous: 1, next: 3 }],
      ["page=6", 2, { ...all, page: 6, from: 101, to: 102, previous: 5 }],
      ["page=7", 0, { ...all, page: 7, from: 0, to: 0, previous: 6 }],
      ["page=900", 0, { ...all, page: 900, from: 0, to: 0, previous: 6 }],
      [
        `page=1${"0".repeat(30)}`,
        0,
        { ...all, page: Number.MAX_SAFE_INTEGER, from: 0, to: 0, previous: 6 },
      ],
      ["page=3&limit=34", 34, lastItem],
      ["limit=1", 1, { ...all, page: 1, limit: 1, last: count, from: 1, to: 1, next: 2 }],
      ["page=1&page=3&limit=3&limit=34", 34, lastItem],
      ["limit=007", 7, { ...all, page: 1, limit: 7, last: 15, from: 1, to: 7, next: 2 }],
    ] as const;
    for (const [query, length, meta] of cases) {
      const page = await read(filled, list, query);
      const wanted = [query, 200, length, meta];
      expect([query, page.status, page.items.length, page.meta]).toEqual(wanted);
    }
  });

  test("returns each item on exactly one page", async () => {
    const whole = await readPages(filled, list, 100);
    expect(new Set(whole.map(({ id }) => id)).size).toBe(count);
    for (const limit of [4, 51]) expect(await readPages(filled, list, limit)).toEqual(whole);
  });

  test("returns 400 if page or limit is not a positive integer", async () => {
    const wrong = ["0", "00", "-1", "1.5", "1e2", "0x1", "abc", "1a", "", "%20", "%2B1", "%D9%A1"];
    for (const parameter of ["page", "limit"]) {
      for (const value of wrong) {
        const { status, body } = await read(filled, list, `${parameter}=${value}`);
        const error = `${parameter} must be a positive whole number.`;
        expect([value, status, body]).toEqual([value, 400, { error }]);
      }
    }
  });

  test("treats a limit above 100 as 100", async () => {
    for (const limit of ["100", "101", "5000", `1${"0".repeat(30)}`]) {
      const { status, items, meta } = await read(filled, list, `limit=${limit}`);
      expect([limit, status, items.length]).toEqual([limit, 200, 100]);
      expect(meta).toMatchObject({ limit: 100, count, last: 2, to: 100, next: 2 });
    }
  });
});

test.each(lists.filter(({ name }) => name !== "projects"))(
  "GET /$name returns one empty page if there are no items",
  async (list) => {
    const empty = { limit: 20, count: 0, last: 1, from: 0, to: 0 };
    const first = await read(world, list);
    expect([first.status, first.body]).toEqual([
      200,
      { [list.name]: [], meta: { ...empty, page: 1 } },
    ]);
    const second = await read(world, list, "page=2");
    expect([second.status, second.items]).toEqual([200, []]);
    expect(second.meta).toEqual({ ...empty, page: 2, previous: 1 });
  },
);

test("meta.count counts only the links that match the filters", async () => {
  await fill(world, { name: "links", add: nameByTurns }, 12);
  const { items, meta } = await read(world, { name: "links" }, "q[name_eq]=One&limit=3&page=2");
  expect(items.map((item: { name: string }) => item.name)).toEqual(["One"]);
  expect(meta).toEqual({ page: 2, limit: 3, count: 4, last: 2, from: 4, to: 4, previous: 1 });
});

function nameByTurns(world: World, index: number) {
  return world.call("POST", "/links", { body: { name: ["One", "Two", "Three"][index % 3] } });
}

type Row = { readonly id: string; readonly path: string; readonly name: string | null };

function compareTexts(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** Sorts nulls last in ascending order, and equal values by ID, which begins with the time. */
function compareBy(field: "path" | "name" | "created_at") {
  return (one: Row, other: Row): number => {
    const byId = compareTexts(one.id, other.id);
    if (field === "created_at") return byId;
    const [left, right] = [one[field], other[field]];
    if (left === null || right === null) {
      return Number(left === null) - Number(right === null) || byId;
    }
    return compareTexts(left.toLowerCase(), right.toLowerCase()) || byId;
  };
}

test("every page of a list of 310 links is sorted correctly in both directions", async () => {
  const count = 310;
  const rows: Row[] = [];
  for (let index = 0; index < count; index += 1) {
    // Ten links share each time of creation, and every seventh link has the same name.
    if (index % 10 === 0) world.advance(1200);
    const name = index % 7 === 0 ? null : `Name ${index % 7}`;
    const path = `p/${(index * 7919) % count}`;
    rows.push((await world.call("POST", "/links", { body: { name, path } })).body);
  }
  for (const field of ["created_at", "path", "name"] as const) {
    const ascending = rows.toSorted(compareBy(field)).map(({ id }) => id);
    for (const [direction, wanted] of [
      ["asc", ascending],
      ["desc", ascending.toReversed()],
    ] as const) {
      for (const limit of [100, 37]) {
        const found: string[] = [];
        for (let page = 1; page <= Math.ceil(count / limit); page += 1) {
          const query = `q[s]=${field}%20${direction}&limit=${limit}&page=${page}`;
          const { items } = await read(world, { name: "links" }, query);
          found.push(...items.map((item: Row) => item.id));
        }
        expect([field, direction, limit, found]).toEqual([field, direction, limit, wanted]);
      }
    }
  }
  const { items } = await read(world, { name: "links" }, "limit=100&page=3");
  expect(items.map((item: Row) => item.id)).toEqual(
    rows
      .toSorted(compareBy("created_at"))
      .toReversed()
      .slice(200, 300)
      .map(({ id }) => id),
  );
});
