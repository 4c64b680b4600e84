import { beforeEach, describe, expect, test } from "vitest";
import { openForAll } from "../../support/open-for.ts";
import { openStage, ownerFacts, type Stage } from "../../support/stage.ts";
import { createWorld } from "../../support/world.ts";

/** A call with wrong arguments is rejected before any request, with all of its problems at once. */

let stage: Stage;
let asked = 0;

openForAll(createWorld, async ({ fetch: send, key }, keep) => {
  stage = keep(await openStage({ send, key, known: { facts: ownerFacts } }));
});

beforeEach(() => {
  asked = stage.asked.length;
});

type Args = Record<string, unknown>;

const spring = { field: "name", condition: "cont", value: "spring" };
const byName = { field: "name", direction: "asc" };
const planned = (changes: Args) => ({ operation: "update", filters: [spring], changes });
type Problem = { readonly field?: string; readonly message: string; readonly fix?: string };

async function readProblems(tool: string, args: Args): Promise<readonly Problem[]> {
  const { isError, structured } = await stage.callTool(tool, args);
  expect([isError, structured.error?.code]).toEqual([true, "invalid_arguments"]);
  expect(structured.error).toMatchObject({ effect: "none", retry: "now" });
  expect(structured.error.next).toContain(tool);
  expect(stage.asked).toHaveLength(asked);
  return structured.error.problems;
}

async function accept(tool: string, args: Args) {
  const { isError, structured, text } = await stage.callTool(tool, args);
  expect(isError, text).toBe(false);
  return structured;
}

describe("an unknown argument", () => {
  test.each([
    ["create_link", { iosFallbackUrl: "https://a.example" }, "iosFallbackUrl", "ios_fallback_url"],
    ["create_link", { "social-title": "Spring" }, "social-title", "social_title"],
    ["create_link", { ios_app: { bundleId: "com.a" } }, "ios_app.bundleId", "bundle_id"],
    ["create_link", { options: { shortn: true } }, "options.shortn", "shorten"],
    ["update_link", { id: "a", nme: "b" }, "nme", "name"],
    ["list_links", { filter: [] }, "filter", "filters"],
    ["list_links", { filters: [{ ...spring, feld: "name" }] }, "filters[0].feld", "field"],
    ["list_links", { sort: { ...byName, dirction: "asc" } }, "sort.dirction", "direction"],
    ["register_android_app", { packageName: "com.a" }, "packageName", "package_name"],
    ["explain_link", { social_titel: "a" }, "social_titel", "social_title"],
    ["plan_links", planned({ socialTitle: "a" }), "changes.socialTitle", "social_title"],
    [
      "plan_links",
      planned({ ios_app: { bundleId: "a" } }),
      "changes.ios_app.bundleId",
      "bundle_id",
    ],
    ["apply_plan", { plan_id: "a", planId: "a" }, "planId", "plan_id"],
    ["export_links", { formt: "csv" }, "formt", "format"],
  ])(
    "is rejected with a suggestion of the most similar argument: %s %j",
    async (tool, args, field, nearest) => {
      const name = field.split(".").at(-1);
      expect(await readProblems(tool, args)).toEqual([
        { field, message: `unknown argument "${name}"`, fix: `Use ${nearest}.` },
      ]);
    },
  );

  test("is rejected with a list of all arguments if no argument has a similar name", async () => {
    const [problem] = await readProblems("shorten_link", {
      url: "https://a.example",
      colour: "red",
    });
    expect(problem?.fix).toBe("Known arguments: url, prefix.");
    const [other] = await readProblems("explain_access", { colour: "red" });
    expect(other?.fix).toBe("Known arguments: none.");
  });

  test.each(["__proto__", "constructor", "toString", "hasOwnProperty", "prototype", ""])(
    "is rejected even if its name is %j",
    async (name) => {
      const inside = JSON.parse(`{"ios_app":{${JSON.stringify(name)}:{"x":1}}}`);
      const [problem] = await readProblems("create_link", inside);
      expect(problem).toMatchObject({ field: `ios_app.${name}`, fix: expect.any(String) });
      // The MCP SDK drops only the name __proto__.
      if (name !== "__proto__") {
        const [other] = await readProblems("get_link", { id: "a", [name]: { x: 1 } });
        expect(other).toMatchObject({ field: name, fix: expect.stringContaining("id") });
      }
      expect(({} as { x?: number }).x).toBeUndefined();
    },
  );

  test("is escaped in the error if its name has invisible characters", async () => {
    const [problem] = await readProblems("get_link", { id: "a", "i\u202ed\n": "b" });
    expect(problem).toMatchObject({
      field: "i\\\\u{202e}d ",
      message: 'unknown argument "i\\\\u{202e}d "',
    });
  });
});

describe("an argument with a wrong type or value", () => {
  // Each message begins with the name of its field.
  test.each([
    ["get_link", {}, "id is required"],
    ["get_link", { id: 5 }, "id must be text"],
    ["get_link", { id: null }, "id must be text"],
    ["upsert_link", { path: null }, "path must be text"],
    ["create_link", { name: ["a"] }, "name must be text"],
    [
      "create_link",
      { enable_forced_redirect: "perhaps" },
      "enable_forced_redirect must be true or false",
    ],
    ["create_link", { ios_app: "com.a" }, "ios_app must be an object"],
    ["create_link", { ios_app: [] }, "ios_app must be an object"],
    [
      "create_link",
      { android_app: { fingerprints: "AA:BB" } },
      "android_app.fingerprints must be a list",
    ],
    [
      "create_link",
      { android_app: { fingerprints: [1] } },
      "android_app.fingerprints[0] must be text",
    ],
    ["list_links", { page: 0 }, "page must be at least 1"],
    ["list_links", { page: 1.5 }, "page must be a whole number"],
    ["list_links", { page: "two" }, "page must be a number"],
    ["list_links", { limit: 101 }, "limit must be at most 100"],
    ["list_links", { filters: {} }, "filters must be a list"],
    ["list_links", { filters: [7] }, "filters[0] must be an object"],
    [
      "list_links",
      { filters: [{ ...spring, value: {} }] },
      "filters[0].value must be text, a number, true or false, or a list",
    ],
    ["plan_links", { operation: "upsert", rows: [7] }, "rows[0] must be an object"],
    ["plan_links", { operation: "upsert", csv: 5 }, "csv must be text"],
    ["plan_links", { operation: "create" }, "operation must be one of upsert, update, delete"],
    ["apply_plan", {}, "plan_id is required"],
    ["export_links", { format: "xml" }, "format must be one of csv, json"],
  ])("is rejected: %s %j", async (tool, args, message) => {
    expect(await readProblems(tool, args)).toEqual([{ field: message.split(" ")[0], message }]);
  });

  const oneSource = "plan_links takes exactly one of rows, csv and filters";
  const needsChanges =
    "update by filters needs changes, replace, add_query or path_prefix; delete takes none of them";
  test.each([
    [{}, "operation", "operation is required, except with undo"],
    [{ operation: "upsert" }, "rows", oneSource],
    [{ operation: "upsert", rows: [], csv: "" }, "rows", oneSource],
    [
      { operation: "update", rows: [], changes: { name: "a" } },
      "changes",
      "changes, replace, add_query and path_prefix need filters; with rows or csv, each row sets " +
        "its own fields",
    ],
    [
      { operation: "delete", filters: [] },
      "filters",
      "an empty list would match every link; give at least one filter",
    ],
    [
      { operation: "upsert", filters: [spring] },
      "operation",
      "filters work with update or delete; upsert takes rows or csv",
    ],
    [planned({}), "changes", needsChanges],
    [{ ...planned({ name: "a" }), operation: "delete" }, "changes", needsChanges],
    [{ operation: "upsert", undo: "a" }, "undo", "undo takes no other arguments; leave them out"],
  ])(
    "is rejected if it contradicts another argument of plan_links: %j",
    async (args, field, message) => {
      expect(await readProblems("plan_links", args)).toEqual([{ field, message }]);
    },
  );

  test("is rejected with a suggestion of the most similar allowed value", async () => {
    const problems = await readProblems("list_links", {
      filters: [{ field: "nam", condition: "contains", value: "a" }],
      sort: { field: "click", direction: "down" },
    });
    expect(problems).toEqual([
      {
        field: "filters[0].field",
        message: expect.stringContaining("name, path"),
        fix: "Use name.",
      },
      { field: "filters[0].condition", message: expect.stringContaining("cont, start") },
      { field: "sort.field", message: expect.stringContaining("clicks"), fix: "Use clicks." },
      { field: "sort.direction", message: "sort.direction must be one of asc, desc" },
    ]);
  });

  test("is reported together with all other problems of the call", async () => {
    const problems = await readProblems("list_links", {
      pge: 1,
      limit: "many",
      filters: [
        { field: "clicks", condition: "eq", value: "many" },
        { field: "name", condition: "eq" },
        { field: "nme", condition: "eq", value: "a" },
      ],
      sort: { field: "name" },
    });
    expect(problems.map(({ field = "" }) => field).toSorted()).toEqual([
      "filters[0]",
      "filters[1].value",
      "filters[2].field",
      "limit",
      "pge",
      "sort.direction",
    ]);
  });

  test("is reported, but the error lists at most 20 problems", async () => {
    const names = Array.from({ length: 100_000 }, (_, index) => [`strange_${index}`, index]);
    expect(await readProblems("get_link", Object.fromEntries(names))).toHaveLength(20);
    const filters = Array.from({ length: 50 }, () => ({ field: 1 }));
    expect(await readProblems("list_links", { filters })).toHaveLength(20);
  });
});

async function count(condition: string, value: unknown): Promise<number> {
  const filters = [{ field: "path", condition, value }];
  return (await accept("list_links", { filters })).meta.count;
}

describe("arguments that a client has encoded as JSON twice", () => {
  test("are accepted as objects, lists, numbers or booleans", async () => {
    const { link } = await accept("create_link", {
      path: "encoded",
      enable_forced_redirect: "true",
      ios_app: '{"bundle_id":"com.example.encoded","team_id":"ABCDE12345"}',
      android_app: { package_name: "com.example.app", fingerprints: '["AA:BB"]' },
      options: '{"shorten":"true"}',
    });
    expect(link).toMatchObject({ path: "encoded", enable_forced_redirect: true });
    expect(link.shortened_path).toEqual(expect.any(String));
    const { ios_app } = await accept("get_ios_app", { id: "com.example.encoded" });
    expect(ios_app.id).toBe(link.ios_app_id);
    const filters = [{ field: "path", condition: "eq", value: "encoded" }];
    const listed = await accept("list_links", {
      filters: JSON.stringify(filters),
      sort: '{"field":"name","direction":"asc"}',
      page: "1",
      limit: "5",
    });
    expect(listed.links).toHaveLength(1);
    expect(listed.meta.limit).toBe(5);
  });

  test("are accepted as null, for example to remove an app", async () => {
    for (const ios_app of [null, "null"]) {
      const app = { bundle_id: "com.example.encoded" };
      const path = "detached";
      const { link } = await accept("upsert_link", { path, ios_app: app });
      expect(link.ios_app_id).toEqual(expect.any(String));
      const detached = await accept("update_link", { id: path, ios_app });
      expect(detached.link).not.toHaveProperty("ios_app_id");
    }
  });

  test("are accepted as filter values even if they are not strings", async () => {
    expect(await count("in", '["encoded","nothing"]')).toBe(1);
    expect(await count("null", "true")).toBe(0);
    expect(await count("present", "true")).toBe(await count("present", true));
  });

  test.each(['{"a":1}', "[1,2]", "true", "12", "null", '"quoted"'])(
    "stay strings if the schema expects a string: %s",
    async (text) => {
      const { link } = await accept("upsert_link", { path: "text", name: text });
      expect(link.name).toBe(text);
      const filters = [{ field: "name", condition: "eq", value: text }];
      expect((await accept("list_links", { filters })).links).toHaveLength(1);
    },
  );

  test.each([
    ["list_links", { page: '"2"' }],
    ["list_links", { page: "[2]" }],
    ["create_link", { ios_app: '"{}"' }],
    ["create_link", { ios_app: "{broken" }],
    ["create_link", { enable_forced_redirect: "1" }],
    ["create_link", { enable_forced_redirect: "TRUE" }],
  ])("are rejected if the decoded value is still invalid: %s %j", async (tool, args) => {
    expect(await readProblems(tool, args)).toHaveLength(1);
  });
});

describe("arguments of a call", () => {
  test("are rejected by the API if they are too long", async () => {
    const { structured } = await stage.callTool("create_link", { name: "x".repeat(2_000_000) });
    expect(structured.error).toMatchObject({ code: "bad_request", status: 413, effect: "none" });
    const long = await stage.callTool("create_link", { name: "x".repeat(10_000) });
    expect(long.structured.error).toMatchObject({ code: "validation_failed" });
    const id = await stage.callTool("get_link", { id: "x".repeat(100_000) });
    expect(id.structured.error.code).toMatch(/^(not_found|bad_request)$/);
  });

  test("are rejected if they are not a JSON object", async () => {
    const { tools } = await stage.client.listTools();
    expect(tools.length).toBeGreaterThan(10);
    for (const args of [[], "text", 7]) {
      const call = stage.client.callTool({ name: "get_link", arguments: args as never });
      await expect(call).rejects.toThrow();
    }
  });

  test("count as omitted if they are null where null has no meaning", async () => {
    await accept("list_links", { filters: null, sort: null, page: null, limit: null });
    await accept("explain_link", { id: null, name: "Spring" });
  });

  test("can be omitted if the tool requires none", async () => {
    const result = await stage.client.callTool({ name: "list_links" });
    expect(result.isError ?? false).toBe(false);
  });
});
