import * as z from "zod";
import type { JsonObject } from "../../contract/json.ts";
import { unwrap } from "../../contract/fields.ts";
import type { ToolFields } from "./input-schema.ts";
import { createWriter } from "./json-schema.ts";

/** Describes the results of tools as JSON Schema. */

const writeMembers = createWriter(({ jsonSchema }) => {
  // Some clients do not support `minLength`.
  delete jsonSchema.minLength;
  delete jsonSchema.additionalProperties;
  if (Object.keys(jsonSchema.properties ?? {}).length === 0) delete jsonSchema.properties;
});

/**
 * Builds the JSON Schema of a tool's result, including errors, because clients discard fields
 * outside the schema. It is short, because the tool list contains such a schema for every tool.
 */
export function buildOutputSchema(result: ToolFields): JsonObject {
  const names = Object.keys(result);
  // If all properties are optional, a result must contain at least one of them.
  const isEither = names.every((name) => result[name]?.safeParse(undefined).success);
  return coverFailure(isEither ? names : names.slice(0, 1), writeMembers(result));
}

/**
 * The schema of a written record. The record is missing if the write succeeded but its response
 * could not be parsed. In that case, `problems` says so.
 */
export const written = z.looseObject({}).optional();
export const problems = z.array(z.unknown()).optional();

/** Returns the schema of a resource in a result, where empty and false fields are omitted. */
export function describeShown(schema: z.ZodObject): z.ZodObject {
  const members = Object.entries(schema.shape).map(([name, member]) => {
    const inner = unwrap(member);
    const shown = inner instanceof z.ZodObject ? z.looseObject({}) : inner;
    return [name, name === "id" ? member : z.optional(shown as z.ZodType)] as const;
  });
  return z.looseObject(Object.fromEntries(members)).describe("Empty and false fields left out");
}

const failure = { type: "object", required: ["code", "message", "next"] };

function coverFailure(mains: readonly string[], properties: JsonObject): JsonObject {
  return {
    type: "object",
    properties: { ...properties, error: failure },
    anyOf: [...mains, "error"].map((name) => ({ required: [name] })),
  };
}
