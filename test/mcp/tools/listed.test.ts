import {
  Ajv,
  AjvJsonSchemaValidator as ValidatorV2,
} from "@modelcontextprotocol/client/validators/ajv";
import { AjvJsonSchemaValidator as ValidatorV1 } from "@modelcontextprotocol/sdk/validation/ajv";
import { describe, expect, test } from "vitest";
import { modes } from "../../../src/mcp/approval/mode.ts";
import {
  answering,
  openStage,
  ownerFacts,
  type ShownTool,
  type Staging,
} from "../../support/stage.ts";

/** What a client is shown of the tools, whole, and what it costs a model to read. */

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

describe("the list of tools", () => {
  test("of a full key is what it was", async () => {
    const text = (await list(full)).map((tool) => write(tool, undefined)).join("\n\n");
    await expect(`${text}\n`).toMatchFileSnapshot("snapshots/full.snap");
  });

  test.each([
    ["a key for links alone", linksOnly, "links-only"],
    ["read-only mode", readOnly, "read-only"],
    ["no key", noKey, "no-key"],
    ["a master key", master, "master-key"],
    ["a key of which nothing is known", unknown, "unknown-key"],
  ])("of %s is what it was, and told from the full one's", async (_, setting, name) => {
    const whole = new Map((await list(full)).map((tool) => [tool.name, tool]));
    const text = (await list(setting)).map((tool) => write(tool, whole.get(tool.name))).join("\n");
    await expect(`${text}\n`).toMatchFileSnapshot(`snapshots/${name}.snap`);
  });

  test("is the same for every client, and stays in its order", async () => {
    const [first, second, third] = [await list(full), await list(full, "v1"), await list(full)];
    expect(JSON.stringify(second)).toBe(JSON.stringify(await list(full, "v1")));
    expect(JSON.stringify(third)).toBe(JSON.stringify(first));
    expect(second.map(({ name }) => name)).toEqual(first.map(({ name }) => name));
    for (const [index, tool] of second.entries()) expect(first[index]).toMatchObject(tool);
    expect((await list(full, "legacy")).map(({ name }) => name)).toEqual(
      first.map(({ name }) => name),
    );
  });

  test.each([
    ["a full key", full, 5000],
    ["a remote key of which nothing is known", unknown, 5000],
    ["a key for links alone", linksOnly, 3000],
    ["declared scopes of links", { mode: "guarded", scopes: linkScopes } satisfies Setting, 3000],
    ["read-only mode", readOnly, 2000],
    ["read-only mode, nothing known", { mode: "read-only" } satisfies Setting, 2000],
    ["a master key", master, 700],
    ["no key", noKey, 150],
  ])("of %s costs a model no more than it may", async (_, setting, most) => {
    const tools = await list(setting);
    expect(tools.length).toBeGreaterThan(1);
    expect(countTokens(tools)).toBeLessThanOrEqual(most);
  });
});

describe("a whole list of tools takes at most 40 KB on the wire", () => {
  const keys = { full, linksOnly, master, unknown, noKey };
  const eras = ["v1", "legacy", "modern"] as const;
  const each = Object.entries(keys).flatMap(([key, setting]) => {
    return modes.flatMap((mode) => eras.map((era) => [key, mode, era, setting] as const));
  });

  test.each(each)("%s, %s, %s", async (_key, mode, era, setting) => {
    await using stage = await openStage({
      send: answering(500, {}),
      probe: "off",
      ...setting,
      mode,
      era,
    });
    const result = await stage.client.listTools();
    expect(result.tools.length).toBeGreaterThan(0);
    const message = JSON.stringify({ jsonrpc: "2.0", id: 1, result });
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(40_000);
  });
});

describe("every schema that is published", () => {
  const settings = [full, readOnly, unknown];

  test("is JSON Schema of every dialect that knows these words, 2020-12 among them", async () => {
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

  test("is one that both lines of clients can hold a result against", async () => {
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

  test("takes no argument that is not named", async () => {
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

/** The words of a schema, but not the names of the members that it speaks of. */
function listKeywords(schema: unknown): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap(listKeywords);
  if (typeof schema !== "object" || schema === null) return [];
  return Object.entries(schema).flatMap(([word, value]) => {
    const inside = word === "properties" ? Object.values(value as object) : value;
    return [word, ...(word === "enum" ? [] : listKeywords(inside))];
  });
}

/** A line for each part of a tool; what is as in another list is left out. */
function write(tool: ShownTool, known: ShownTool | undefined): string {
  const parts = Object.entries(tool).filter(([part, value]) => {
    const other: unknown = known?.[part as keyof ShownTool];
    return part !== "name" && JSON.stringify(value) !== JSON.stringify(other);
  });
  return [tool.name, ...parts.map(([part, value]) => `  ${part}: ${JSON.stringify(value)}`)].join(
    "\n",
  );
}

/** What a model is shown of a tool, at the customary four bytes a token. */
function countTokens(tools: readonly ShownTool[]): number {
  const shown = tools.map(({ name, description, inputSchema }) => {
    return Buffer.byteLength(JSON.stringify({ name, description, inputSchema }));
  });
  return shown.reduce((sum, bytes) => sum + bytes, 0) / 4;
}
