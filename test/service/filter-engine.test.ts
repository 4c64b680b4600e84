import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { indexBatch, createIndex } from "../../src/store/trigram-index.ts";
import {
  selectIds,
  type Kind,
  type Kinds,
  type Pair,
  type Row,
  day,
  plantLinks,
  readCreation,
  type Seed,
} from "../support/planting.ts";
import { isOnPostgres } from "../support/store-place.ts";
import { createWorld, type World } from "../support/world.ts";

/** Compares the filter engine with a model that shares no code with it. */

const links: Kinds = {
  name: "text",
  path: "path",
  shortened_path: "path",
  clicks: "integer",
  created_at: "time",
  created_via: "text",
  ios_app_bundle_id: "text",
  android_app_package_name: "text",
};
const iosApps: Kinds = {
  name: "text",
  bundle_id: "text",
  team_id: "text",
  clip_bundle_id: "text",
  custom_scheme: "text",
  created_at: "time",
};
const androidApps: Kinds = {
  name: "text",
  package_name: "text",
  custom_scheme: "text",
  created_at: "time",
};
const kinds = { links, ios_apps: iosApps, android_apps: androidApps } as const;

/** The parts of names and operands. They are few, so that random filters often match. */
const letters = ["a", "A", "b", "é", "É", "e\u0301", "ß", "Σ", "σ", "ς", "İ", "T\u0308", "\u1e97"];
const words = ["spring", "SPRING", "prin", "ΟΔΟΣ", "οδος", "ÉTÉ", "été", "日本語"];
const others = ["日本", "😀", "\ud7ff", "\ue000", "-", "1", " ", "%", "_", "a_%", "\\", "'", '"'];
const bundles = ["com.a", "com.A", "org.b-1.c"];
const packages = ["com.a", "com.A.b_c"];

const pathText = writeWith([...letters, ...words], 4);
const nameText = writeWith([...letters, ...words, ...others], 5);

const operands: Readonly<Record<Kind, fc.Arbitrary<string>>> = {
  text: fc.oneof(
    fc.constantFrom(...words),
    writeWith([...letters, ...others], 4),
    writeWith([...words, ...others], 2),
    fc.constantFrom("api", "CONSOLE", "TEAM000001", ...bundles, ...packages),
  ),
  path: fc.oneof(
    pathText,
    fc.constantFrom(...words),
    fc.constantFrom("/", "/a", "%C3%A9", "a%", "%", "a-1", "/%C3%89"),
  ),
  integer: fc.constantFrom(
    "0",
    "1",
    "3",
    " 3 ",
    "12x",
    "abc",
    "-1",
    "+3",
    "007",
    "1_2",
    "9e9",
    "2",
  ),
  time: fc.oneof(
    fc.integer({ min: 10, max: 25 }).map((date) => `2026-01-${date}`),
    fc.constantFrom("2026-01-16T00:00", "2026-01-15 12:00:00", "2026-01-16T02:00:00+02:00"),
    fc.constantFrom("2026-01-16T12:00:00Z", "2026-02-30", "2026-13-01", "yesterday", "0"),
    fc.constantFrom("2026-01-1", "-01-2", "T00:00", "t12", ".000Z", "2026", "%"),
  ),
};
const conditions = "eq not_eq cont cont start in gt gteq lt lteq null present".split(" ");
const flags = fc.constantFrom(
  "",
  " ",
  "1",
  "0",
  "t",
  "T",
  "true",
  "TRUE",
  "f",
  "F",
  "false",
  "yes",
);

const seed: fc.Arbitrary<Seed> = fc.record({
  name: fc.option(nameText),
  path: pathText,
  isShortened: fc.boolean(),
  clicks: fc.constantFrom(0, 0, 1, 3, 12),
  created_via: fc.constantFrom("api", "console"),
  ios_app_bundle_id: fc.option(fc.constantFrom(...bundles)),
  android_app_package_name: fc.option(fc.constantFrom(...packages)),
  pause: fc.constantFrom(0, 0, 1, day / 2, day),
});

type Step = {
  readonly act: "rename" | "move" | "delete";
  readonly at: number;
  readonly to: string;
};
/** The distance from the newest link. A new row may reuse the place of a deleted newest row. */
const at = fc.oneof(fc.constant(0), fc.nat(20), fc.nat(300));
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({ act: fc.constantFrom("rename", "move", "delete"), at, to: pathText }),
  { maxLength: 6 },
);

type Question = { readonly q: readonly Pair[]; readonly page: number; readonly limit: number };

describe("the filter engine", () => {
  test.each(["no trigram index", "a trigram index"])(
    "returns the same links as a reference model if there is %s",
    async (state) => {
      const story = fc.record({
        before: seeds("a", 12),
        after: seeds("b", 12),
        changes: steps,
        last: seeds("c", 3),
        questions: questionsOn(links),
      });
      await fc.assert(
        fc.asyncProperty(story, async ({ before, after, changes, last, questions }) => {
          await using world = await createWorld();
          const rows = await plantLinks(world, before);
          if (state === "a trigram index") {
            await beginIndex(world);
            await world.store.finishTasks();
          }
          rows.push(...(await plantLinks(world, after)));
          await change(world, rows, changes);
          rows.push(...(await plantLinks(world, last)));
          for (const question of questions) await compare(world, "links", rows, question);
        }),
        { numRuns: 15 },
      );
    },
  );

  // PostgreSQL never has a half-built index.
  test.skipIf(isOnPostgres)(
    "returns the same links as a reference model while the trigram index is being built",
    async () => {
      await using world = await createWorld();
      const [grown = []] = fc.sample(fc.array(seed, { minLength: 300, maxLength: 300 }), 1);
      const rows = await plantLinks(world, number(grown, "grown"));
      await beginIndex(world);
      const { id: projectId } = world.project;
      expect(await world.store.write((db) => indexBatch({ db, projectId }))).toBe(false);
      for (const stage of ["half", "whole"]) {
        if (stage === "whole") await world.store.finishTasks();
        for (let turn = 0; turn < 12; turn += 1) {
          const story = fc.tuple(seeds(`${stage}-${turn}`, 2), steps, questionsOn(links));
          for (const [added, changes, questions] of fc.sample(story, 1)) {
            rows.push(...(await plantLinks(world, added)));
            await change(world, rows, changes);
            for (const question of questions) await compare(world, "links", rows, question);
          }
        }
      }
    },
  );

  test("returns the same iOS apps as a reference model", async () => {
    const app = fc.record({
      bundle_id: fc.constantFrom("com.a", "com.A", "com.a.b", "com.b", "org", "org.1-x"),
      team_id: fc.constantFrom("TEAM000001", "team000001", "TEAM000002"),
      name: fc.option(nameText),
      clip_bundle_id: fc.option(fc.constantFrom("com.a.Clip", "com.a.clip", "org.Clip")),
      custom_scheme: fc.option(fc.constantFrom("shop", "SHOP", "a+b", "a.b")),
    });
    await agreeOnApps("ios_apps", fc.uniqueArray(app, { selector: (one) => one.bundle_id }));
  });

  test("returns the same Android apps as a reference model", async () => {
    const app = fc.record({
      package_name: fc.constantFrom("com.a", "com.A", "com.a.b_c", "com.b", "org.x1"),
      fingerprints: fc.constant(["AA:BB"]),
      name: fc.option(nameText),
      custom_scheme: fc.option(fc.constantFrom("shop", "SHOP", "a+b")),
    });
    await agreeOnApps("android_apps", fc.uniqueArray(app, { selector: (one) => one.package_name }));
  });
});

test("a deleted link is removed from the trigram index before its row ID is reused", async () => {
  await using world = await createWorld();
  await beginIndex(world);
  await world.store.finishTasks();
  const [gone] = await plantLinks(world, [{ name: "oldest", path: "old" }]);
  expect((await world.call("DELETE", `/links/${gone?.id}`)).status).toBe(204);
  await plantLinks(world, [{ name: "newest", path: "new" }]);
  const reply = await world.call("GET", "/links", { query: "q[name_or_path_cont]=old" });
  expect(reply.body.links).toEqual([]);
});

async function agreeOnApps(
  list: "ios_apps" | "android_apps",
  apps: fc.Arbitrary<readonly object[]>,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(apps, questionsOn(kinds[list]), async (given, questions) => {
      await using world = await createWorld();
      const rows: Row[] = [];
      for (const app of given) {
        world.advance(day / 2);
        const body = { [list.slice(0, -1)]: app };
        const reply = await world.call("POST", `/${list}`, { body });
        expect(reply.status, reply.text).toBe(201);
        const created_at = await readCreation(world, list, reply.body.id);
        rows.push({ ...reply.body, created_at });
      }
      for (const question of questions) await compare(world, list, rows, question);
    }),
    { numRuns: 12 },
  );
}

async function compare(
  world: World,
  list: keyof typeof kinds,
  rows: readonly Row[],
  { q, page, limit }: Question,
): Promise<void> {
  const asked = new URLSearchParams(
    q.map(([name, value]): [string, string] => [name, value]),
  ).toString();
  const query = `page=${page}&limit=${limit}&${asked}`;
  const { status, body } = await world.call("GET", `/${list}`, { query });
  const ids = selectIds(rows, kinds[list], q);
  if (ids === undefined) return expect({ q, status }).toEqual({ q, status: 400 });
  const told = { status, ids: body[list]?.map((item: Row) => item.id), count: body.meta?.count };
  const expected = ids.slice((page - 1) * limit, page * limit);
  expect({ q, ...told }).toEqual({ q, status: 200, ids: expected, count: ids.length });
}

async function change(world: World, rows: Row[], changes: readonly Step[]): Promise<void> {
  for (const [turn, { act, at, to }] of changes.entries()) {
    const index = Math.max(0, rows.length - 1 - at);
    const row = rows[index];
    if (row === undefined) return;
    const path = `/links/${row.id}`;
    if (act === "delete") {
      expect((await world.call("DELETE", path)).status).toBe(204);
      rows.splice(index, 1);
      continue;
    }
    const body = act === "rename" ? { name: to } : { path: `${to}-${row.id}-${turn}` };
    const reply = await world.call("PATCH", path, { body });
    expect(reply.status, reply.text).toBe(200);
    rows[index] = { ...row, name: reply.body.name, path: reply.body.path };
  }
}

async function beginIndex({ store, project }: World): Promise<void> {
  await store.write((db) => createIndex({ db, projectId: project.id }));
}

function seeds(tag: string, maxLength: number): fc.Arbitrary<Seed[]> {
  return fc.array(seed, { maxLength }).map((list) => number(list, tag));
}

function number(list: readonly Seed[], tag: string): Seed[] {
  return list.map((one, index) => ({ ...one, path: `${one.path}-${tag}${index}` }));
}

function writeWith(parts: readonly string[], maxLength: number): fc.Arbitrary<string> {
  return fc.array(fc.constantFrom(...parts), { maxLength }).map((list) => list.join(""));
}

function questionsOn(fields: Kinds): fc.Arbitrary<Question[]> {
  const pairs = fc.tuple(
    fc.array(filterOn(fields), { maxLength: 3 }),
    fc.array(sortOn(fields), { maxLength: 2 }),
  );
  const question = fc.record({
    q: pairs.map((both) => both.flat(2)),
    page: fc.constantFrom(1, 1, 1, 2, 3),
    limit: fc.constantFrom(100, 100, 3, 7),
  });
  return fc.array(question, { minLength: 20, maxLength: 20 });
}

function filterOn(fields: Kinds): fc.Arbitrary<Pair[]> {
  const field = fc.constantFrom(...Object.keys(fields));
  const join = fc.constantFrom("and", "or");
  const subject = fc.oneof(
    { weight: 5, arbitrary: field },
    { weight: 2, arbitrary: fc.tuple(field, field).map((both) => both.join("_or_")) },
    { weight: 1, arbitrary: fc.tuple(field, field).map((both) => both.join("_and_")) },
    { weight: 1, arbitrary: fc.tuple(field, join, field, join, field).map((all) => all.join("_")) },
    { weight: 1, arbitrary: fc.constantFrom("url", "name_or_url", "constructor", "name_name") },
  );
  const condition = fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...conditions) },
    { weight: 1, arbitrary: fc.constantFrom("matches", "i_cont", "eq_any", "not_null", "blank") },
  );
  return fc.tuple(subject, condition, fc.boolean()).chain(([about, asks, isList]) => {
    const [first = ""] = about.split(/_or_|_and_/);
    const kind = Object.hasOwn(fields, first) ? (fields[first] ?? "text") : "text";
    const isWord = asks === "null" || asks === "present";
    const value = fc.oneof({ weight: isWord ? 1 : 9, arbitrary: operands[kind] }, flags);
    const maxLength = isList ? 3 : 1;
    const name = `q[${about}_${asks}]${isList ? "[]" : ""}`;
    return fc.array(
      value.map((text): Pair => [name, text]),
      { minLength: 1, maxLength },
    );
  });
}

function sortOn(fields: Kinds): fc.Arbitrary<Pair[]> {
  const field = fc.constantFrom("id", "url", ...Object.keys(fields), ...Object.keys(fields));
  const way = fc.constantFrom("", " asc", " desc", " DESC", "  desc ", " down", " asc, id desc");
  return fc.tuple(field, way).map((both) => [["q[s][]", both.join("")]]);
}
