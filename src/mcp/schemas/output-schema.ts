import * as z from "zod";
import type { JsonObject } from "../../contract/json.ts";
import { unwrap } from "../../contract/fields.ts";
import type { ToolFields } from "./input-schema.ts";
import { createWriter } from "./json-schema.ts";

const writeMembers = createWriter(({ jsonSchema }) => {
  // Results omit empty strings, and some clients do not support this keyword.
  delete jsonSchema.minLength;
  // Additional properties are allowed by default.
  delete jsonSchema.additionalProperties;
  if (Object.keys(jsonSchema.properties ?? {}).length === 0) delete jsonSchema.properties;
});

/**
 * Builds the JSON Schema of a tool's result. It also covers failures, which are the same for all
 * tools, because clients discard what the schema does not allow. It is short, because each tool
 * sends its own copy.
 */
export function buildOutputSchema(result: ToolFields): JsonObject {
  const names = Object.keys(result);
  // If all properties are optional, any one of them makes a valid result.
  const isEither = names.every((name) => result[name]?.safeParse(undefined).success);
  return coverFailure(isEither ? names : names.slice(0, 1), writeMembers(result));
}

/**
 * Optional, because a write may succeed although its response could not be read. `problems` then
 * says so.
 */
export const written = z.looseObject({}).optional();
/** Problems and unreadable values. Each has a message, and some have a field and a fix. */
export const problems = z.array(z.unknown()).optional();

/** The schema of a resource in a result, which omits all empty and false fields. */
export function describeShown(schema: z.ZodObject): z.ZodObject {
  const members = Object.entries(schema.shape).map(([name, member]) => {
    const inner = unwrap(member);
    const shown = inner instanceof z.ZodObject ? z.looseObject({}) : inner;
    // zod declares a more general type, but every schema here is a ZodType.
    return [name, name === "id" ? member : z.optional(shown as z.ZodType)] as const;
  });
  return z.looseObject(Object.fromEntries(members)).describe("Empty and false fields left out");
}

/** The properties by which clients recognize a failure. */
const failure = { type: "object", required: ["code", "message", "next"] };

function coverFailure(mains: readonly string[], properties: JsonObject): JsonObject {
  return {
    type: "object",
    properties: { ...properties, error: failure },
    anyOf: [...mains, "error"].map((name) => ({ required: [name] })),
  };
}
