import * as z from "zod";
import type { JsonObject } from "../../contract/json.ts";
import { unwrap } from "../../contract/fields.ts";
import type { ToolFields } from "./input-schema.ts";
import { createWriter } from "./json-schema.ts";

const writeMembers = createWriter(({ jsonSchema }) => {
  // Results omit empty texts, and some clients do not know this keyword.
  delete jsonSchema.minLength;
  // Additional members are allowed by default.
  delete jsonSchema.additionalProperties;
  if (Object.keys(jsonSchema.properties ?? {}).length === 0) delete jsonSchema.properties;
});

/**
 * Builds the JSON Schema of a tool's result: its data, or a failure, which looks the same for all
 * tools. It covers both because clients discard what the schema does not allow. It is short because
 * each tool sends its own copy.
 */
export function buildOutputSchema(result: ToolFields): JsonObject {
  const names = Object.keys(result);
  // If all members are optional, any one of them makes a valid result.
  const isEither = names.every((name) => result[name]?.safeParse(undefined).success);
  return coverFailure(isEither ? names : names.slice(0, 1), writeMembers(result));
}

/** A write may succeed although its response could not be read. Then `problems` says so. */
export const written = z.looseObject({}).optional();
/** What is wrong or could not be read. Each has a message, and some have a field and a fix. */
export const problems = z.array(z.unknown()).optional();

/** Describes a resource in a result, which omits all empty and false fields. */
export function describeShown(schema: z.ZodObject): z.ZodObject {
  const members = Object.entries(schema.shape).map(([name, member]) => {
    const inner = unwrap(member);
    const shown = inner instanceof z.ZodObject ? z.looseObject({}) : inner;
    // zod gives members the type of its core, but every schema here is a ZodType.
    return [name, name === "id" ? member : z.optional(shown as z.ZodType)] as const;
  });
  return z.looseObject(Object.fromEntries(members)).describe("Empty and false fields left out");
}

/** The members that identify a failure for a client. */
const failure = { type: "object", required: ["code", "message", "next"] };

function coverFailure(mains: readonly string[], properties: JsonObject): JsonObject {
  return {
    type: "object",
    properties: { ...properties, error: failure },
    anyOf: [...mains, "error"].map((name) => ({ required: [name] })),
  };
}
