import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../src/contract/endpoint.ts";
import { conditions } from "../../../src/contract/filters.ts";
import { contract } from "../../../src/contract/index.ts";
import { readQuery } from "../../../src/service/read-query.ts";
import { openForAll } from "../../support/open-for.ts";
import { openStage, ownerFacts, type Stage } from "../../support/stage.ts";
import { createWorld } from "../../support/world.ts";

/** The API ignores filters it cannot read and lists everything, so these must not be sent. */

let stage: Stage;
const urls: URL[] = [];

openForAll(createWorld, async (world, keep) => {
  const send = (request: Request) => {
    urls.push(new URL(request.url));
    return world.fetch(request);
  };
  stage = keep(await openStage({ key: world.key, known: { facts: ownerFacts }, send }));
  for (const [path, name] of [
    ["spring", "Spring"],
    ["spring/shoes", "Shoes"],
    ["summer", null],
  ]) {
    await world.call("POST", "/links", { body: { path, name, url: "https://a.example" } });
  }
});

async function list(filters: readonly object[], tool = "list_links") {
  const before = urls.length;
  const { isError, structured } = await stage.callTool(tool, { filters });
  const sent = urls.slice(before);
  const paths = structured.links?.map((link: { path: string }) => link.path);
  return isError ? { sent, error: structured.error } : { sent, paths };
}

async function readProblems(filters: readonly object[], tool?: string): Promise<readonly string[]> {
  const { sent, error } = await list(filters, tool);
  expect([sent, error?.code]).toEqual([[], "invalid_arguments"]);
  return error.problems.map(({ field, message }: { field: string; message: string }) => {
    expect(message.startsWith(field)).toBe(true);
    return message;
  });
}

const filtering = ["list_links", "plan_links", "export_links"];

describe("a filter that the API would ignore", () => {
  const needsValue = "needs a value; to find empty fields, use present with false";
  const needsTime = "needs a date or time such as 2026-03-01T12:00:00Z";
  test.each([
    ["name", "eq", "", needsValue],
    ["name", "cont", " \t", needsValue],
    ["name", "eq", ["a"], "takes one value with eq"],
    ["name", "eq", true, "does not take true or false with eq"],
    ["name", "in", "a", "needs a list with in"],
    ["name", "in", [], "needs at least one value"],
    ["name", "in", ["a", " "], needsValue],
    ["name", "present", "yes", "needs true or false with present"],
    ["name", "null", 1, "needs true or false with null"],
    ["name", "present", ["true"], "needs true or false with present"],
    ["name", "eq", "a\u0000b", "has invalid characters"],
    ["path", "eq", "a\ud800", "has invalid characters"],
    ["clicks", "gt", "many", "needs a whole number"],
    ["clicks", "gt", "5 or so", "needs a whole number"],
    ["clicks", "gt", 1.5, "needs a whole number"],
    ["clicks", "gt", 1e30, "needs a whole number"],
    ["clicks", "in", [1, "x"], "needs a whole number"],
    ["created_at", "gteq", "yesterday", needsTime],
    ["created_at", "gteq", "2026-02-31", needsTime],
    ["created_at", "gteq", "2026-03-01 or so", needsTime],
    ["created_at", "gteq", 2026, needsTime],
  ])("is rejected before any request: %s %s %j", async (field, condition, value, problem) => {
    for (const tool of filtering) {
      const filters = [{ field, condition, value }];
      expect(await readProblems(filters, tool)).toEqual([`filters[0] on ${field} ${problem}`]);
    }
  });

  test("is rejected if the list does not support filtering by its field", async () => {
    const filter = { field: "social_image_url", condition: "eq", value: "a" };
    expect(await readProblems([filter])).toEqual([
      expect.stringContaining("filters[0].field must be one"),
    ]);
    const bundle = { field: "bundle_id", condition: "eq", value: "a" };
    expect(await readProblems([bundle])).toHaveLength(1);
    expect((await list([bundle], "list_ios_apps")).sent).toHaveLength(1);
    expect(await readProblems([bundle], "list_android_apps")).toHaveLength(1);
  });

  test("is rejected if another filter of the call has the same field and condition", async () => {
    const one = { field: "name", condition: "cont", value: "spring" };
    const other = { ...one, value: "shoes" };
    const message = "filters[1] repeats the field and condition of an earlier filter";
    for (const tool of filtering) expect(await readProblems([one, other], tool)).toEqual([message]);
    expect(await readProblems([one, one])).toEqual([message]);
    const lists = [["a"], ["b"]].map((value) => ({ field: "name", condition: "in", value }));
    expect(await readProblems(lists)).toEqual([message]);
    expect((await list([one, { ...other, condition: "start" }])).sent).toHaveLength(1);
  });

  test("is rejected if the call has more filters than the API reads", async () => {
    const many = Array.from({ length: 51 }, () => ({ field: "name", condition: "eq", value: "a" }));
    for (const tool of filtering) {
      expect(await readProblems(many, tool)).toEqual(["filters has more than 50 items"]);
    }
  });
});

describe("a filter that the API supports", () => {
  const all = ["spring", "spring/shoes", "summer"];
  test.each<readonly [field: string, condition: string, value: unknown, paths: string[]]>([
    ["path", "eq", "spring", ["spring"]],
    ["path", "eq", "/spring", ["spring"]],
    ["path", "start", "spring", ["spring", "spring/shoes"]],
    ["path", "in", ["spring", "summer"], ["spring", "summer"]],
    ["name", "present", false, ["summer"]],
    ["name", "null", true, ["summer"]],
    ["clicks", "eq", 0, all],
    ["clicks", "gt", "-1", all],
    ["clicks", "gt", "+1", []],
    ["created_at", "gt", "2026-01-01", all],
    ["created_at", "lt", "2026-01-01T00:00:00+02:00", []],
    ["created_at", "start", "1999-", []],
    ["clicks", "cont", 0, all],
    ["clicks", "cont", "x", []],
  ])("is sent to the API: %s %s %j", async (field, condition, value, paths) => {
    expect((await list([{ field, condition, value }])).paths.toSorted()).toEqual(paths);
  });

  test("is sent to the API together with another filter of the same call", async () => {
    const filters = [
      { field: "path", condition: "cont", value: "spring" },
      { field: "name", condition: "not_eq", value: "Shoes" },
    ];
    expect((await list(filters)).paths).toEqual(["spring"]);
  });
});

const lists: readonly Endpoint[] = [
  contract.links.index,
  contract.iosApps.index,
  contract.androidApps.index,
];

function generateValue(field: string, condition: string): fc.Arbitrary<unknown> {
  const items: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    clicks: fc.integer(),
    created_at: fc.constant("2026-03-01"),
  };
  const item = items[field] ?? fc.string({ minLength: 1, maxLength: 9 });
  if (condition === "in") return fc.array(item, { minLength: 1, maxLength: 3 });
  return condition === "null" || condition === "present" ? fc.boolean() : item;
}

test("the API recognizes every filter that a tool sends", async () => {
  const words = fc.constantFrom("true", "0", "-7", "2026-03-01", "2026-03-01T12:00Z", "[1]", " a ");
  const text = fc.oneof(fc.string({ unit: "binary", maxLength: 12 }), words, fc.constant("%"));
  const item = fc.oneof(text, fc.integer(), fc.double());
  const value = fc.oneof(item, fc.boolean(), fc.array(item, { maxLength: 3 }));
  let sent = 0;
  const scene = fc.constantFrom(...lists).chain((endpoint) => {
    const fields = Object.keys(endpoint.list?.filters ?? {});
    const field = fc.constantFrom(...fields);
    const filter = fc.tuple(field, fc.constantFrom(...conditions)).chain(([name, condition]) => {
      const meant = generateValue(name, condition);
      return fc.record({
        field: fc.constant(name),
        condition: fc.constant(condition),
        value: fc.oneof({ weight: 2, arbitrary: meant }, { weight: 1, arbitrary: value }),
      });
    });
    return fc.tuple(fc.constant(endpoint), fc.array(filter, { minLength: 1, maxLength: 3 }));
  });
  await fc.assert(
    fc.asyncProperty(scene, async ([endpoint, filters]) => {
      const { sent: found, error } = await list(filters, endpoint.tool);
      expect(found.length === 0).toBe(error !== undefined);
      for (const { searchParams } of found) {
        sent += 1;
        const read = readQuery(searchParams, endpoint).list?.filters ?? [];
        expect(read).toHaveLength(filters.length);
        for (const { tests } of read) {
          for (const one of tests) expect([one.value].flat()).not.toContain(null);
        }
      }
    }),
    { numRuns: 400 },
  );
  expect(sent).toBeGreaterThan(100);
});
