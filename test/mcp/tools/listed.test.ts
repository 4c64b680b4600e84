import {
  Ajv,
  AjvJsonSchemaValidator as ValidatorV2,
} from "@modelcontextprotocol/client/validators/ajv";
import { AjvJsonSchemaValidator as ValidatorV1 } from "@modelcontextprotocol/sdk/validation/ajv";
import { describe, expect, test } from "vitest";
import {
  answering,
  openStage,
  ownerFacts,
  type ShownTool,
  type Staging,
} from "../../support/stage.ts";

/** Tests the list of tools as a client reads it, including its cost in tokens. */

const linkScopes = [
  "links.show",
  "links.index",
  "links.create",
  "links.update",
  "links.destroy",
] as const;

type Setting = Omit<Staging, "send">;
const full: Setting = { known: { facts: ownerFacts }, mode: "guarded" };
const linksOnly: Setting = { ...full, known: { facts: { ...ownerFacts, scopes: linkScopes } } };
const readOnly: Setting = { ...full, mode: "read-only" };
const noKey: Setting = { key: undefined, mode: "guarded" };
const master: Setting = { ...full, known: { facts: { ...ownerFacts, kind: "master" } } };
const unknown: Setting = { mode: "guarded" };

async function list(setting: Setting, era?: "v1" | "legacy" | "modern") {
  await using stage = await openStage({
    send: answering(500, {}),
    probe: "off",
    ...setting,
    ...(era !== undefined && { era }),
  });
  const tools = await stage.listTools();
  expect(stage.asked).toEqual([]);
  return tools;
}

describe("the tool list", () => {
  test("for a key with all permissions matches the snapshot", async () => {
    const text = (await list(full)).map((tool) => write(tool, undefined)).join("\n\n");
    await expect(`${text}\n`).toMatchFileSnapshot("snapshots/full.snap");
  });

  test.each([
    ["a key for links", linksOnly, "links-only"],
    ["read-only mode", readOnly, "read-only"],
    ["no key", noKey, "no-key"],
    ["a master key", master, "master-key"],
    ["an unknown remote key", unknown, "unknown-key"],
  ])(
    "for %s matches the snapshot of its differences from the full list",
    async (_, setting, name) => {
      const whole = new Map((await list(full)).map((tool) => [tool.name, tool]));
      const text = (await list(setting))
        .map((tool) => write(tool, whole.get(tool.name)))
        .join("\n");
      await expect(`${text}\n`).toMatchFileSnapshot(`snapshots/${name}.snap`);
    },
  );

  test("contains the same tools in the same order for every client", async () => {
    const [first, second, third] = [await list(full), await list(full, "v1"), await list(full)];
    expect(JSON.stringify(third)).toBe(JSON.stringify(first));
    expect(second.map(({ name }) => name)).toEqual(first.map(({ name }) => name));
    for (const [index, tool] of second.entries()) expect(first[index]).toMatchObject(tool);
    const legacy = await list(full, "legacy");
    expect(legacy.map(({ name }) => name)).toEqual(first.map(({ name }) => name));
  });

  test.each([
    ["a key with all permissions", full, 5000],
    ["an unknown remote key", unknown, 5000],
    ["a key for links", linksOnly, 3000],
    [
      "link scopes in WAYPOST_SCOPES",
      { mode: "guarded", scopes: linkScopes } satisfies Setting,
      3000,
    ],
    ["read-only mode", readOnly, 2000],
    ["read-only mode and an unknown key", { mode: "read-only" } satisfies Setting, 2000],
    ["a master key", master, 700],
    ["no key", noKey, 150],
  ])("for %s stays within its token limit", async (_, setting, most) => {
    const tools = await list(setting);
    expect(tools.length).toBeGreaterThan(1);
    expect(countTokens(tools)).toBeLessThanOrEqual(most);
  });

  test.each([
    ["a key with all permissions", full],
    ["an unknown remote key", unknown],
  ])("for %s takes at most 40 KB", async (_, setting) => {
    const message = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      result: { tools: await list(setting) },
    });
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(40_000);
  });

  test("has a unique title and a short description for each tool", async () => {
    const tools = await list(full);
    expect(new Set(tools.map(({ title }) => title)).size).toBe(tools.length);
    for (const { name, title, description = "" } of tools) {
      expect(title, name).toMatch(/^[A-Z][^.]+$/);
      expect(description, name).toMatch(/^[A-Z].*\.$/);
      expect(description.length, name).toBeLessThanOrEqual(160);
    }
  });

  test.each(["plan_links", "export_links"])(
    "describes the filters of %s in full only if list_links is not listed",
    async (name) => {
      const [whole, bulk] = [await list(full), await list({ ...full, selection: ["bulk"] })];
      const spelled = find(whole, "list_links")?.inputSchema.properties?.["filters"];
      const own = find(bulk, name);
      expect(own?.inputSchema.properties?.["filters"]).toEqual(spelled);
      expect(own?.description).not.toContain("list_links");
      const short = find(whole, name);
      expect(short?.description).toMatch(/ Filters as in list_links\.$/);
      const filters = short?.inputSchema.properties?.["filters"];
      expect(JSON.stringify(filters)).not.toContain("enum");
      expect(filters).toMatchObject({ items: { required: ["field", "condition", "value"] } });
    },
  );
});

describe("the schema of every tool", () => {
  const settings = [full, readOnly, unknown];

  test("uses only keywords that exist in all JSON Schema dialects", async () => {
    const ajv = new Ajv({ strict: true, strictRequired: false, allowUnionTypes: true });
    for (const setting of settings) {
      for (const { name, inputSchema, outputSchema = {} } of await list(setting)) {
        for (const schema of [inputSchema, outputSchema]) {
          expect(ajv.validateSchema(schema), `${name}: ${ajv.errorsText()}`).toBe(true);
          expect(schema).toHaveProperty("type", "object");
          expect(listKeywords(schema).filter((word) => !keywords.has(word))).toEqual([]);
        }
      }
    }
  });

  test("accepts valid errors and rejects malformed errors in both SDKs", async () => {
    const failure = { code: "not_found", message: "a", effect: "none", retry: "never", next: "b" };
    for (const validator of [new ValidatorV1(), new ValidatorV2()]) {
      for (const { name, outputSchema = {} } of await list(full)) {
        const check = validator.getValidator(outputSchema);
        const isFit = (value: unknown) => check(value).valid;
        expect([name, isFit({ error: failure, more: 1 })]).toEqual([name, true]);
        expect([name, isFit({ error: { ...failure, status: 404, more: 1 } })]).toEqual([
          name,
          true,
        ]);
        for (const wrong of [
          {},
          { error: {} },
          { error: { ...failure, next: undefined } },
          { error: "odd" },
        ]) {
          expect([name, isFit(wrong)]).toEqual([name, false]);
        }
      }
    }
  });

  test("allows no unknown arguments", async () => {
    for (const { name, inputSchema } of await list(unknown)) {
      expect(inputSchema, name).toHaveProperty("additionalProperties", false);
    }
  });
});

const keywords = new Set([
  "type",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "anyOf",
  "enum",
  "minimum",
  "maximum",
  "default",
  "description",
]);

function find(tools: readonly ShownTool[], name: string): ShownTool | undefined {
  return tools.find((tool) => tool.name === name);
}

function listKeywords(schema: unknown): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap(listKeywords);
  if (typeof schema !== "object" || schema === null) return [];
  return Object.entries(schema).flatMap(([word, value]) => {
    const inside = word === "properties" ? Object.values(value as object) : value;
    return [word, ...(word === "enum" ? [] : listKeywords(inside))];
  });
}

/** Writes each part of a tool on a line, except parts that equal the other list's tool. */
function write(tool: ShownTool, known: ShownTool | undefined): string {
  const parts = Object.entries(tool).filter(([part, value]) => {
    const other: unknown = known?.[part as keyof ShownTool];
    return part !== "name" && JSON.stringify(value) !== JSON.stringify(other);
  });
  return [tool.name, ...parts.map(([part, value]) => `  ${part}: ${JSON.stringify(value)}`)].join(
    "\n",
  );
}

function countTokens(tools: readonly ShownTool[]): number {
  const shown = tools.map(({ name, description, inputSchema }) => {
    return Buffer.byteLength(JSON.stringify({ name, description, inputSchema }));
  });
  return shown.reduce((sum, bytes) => sum + bytes, 0) / 4;
}
