import * as z from "zod";
import type { JsonObject } from "../../contract/json.ts";
import { unwrap } from "../../contract/unwrap-schema.ts";
import type { Fields } from "./input-schema.ts";
import { createWriter } from "./json-schema.ts";

const writeMembers = createWriter(({ jsonSchema }) => {
  // Empty texts never get this far (client/read-refusal.ts), and not every client knows the word.
  delete jsonSchema.minLength;
  // That a result may have more members need not be said: it is so where nothing is.
  delete jsonSchema.additionalProperties;
  if (Object.keys(jsonSchema.properties ?? {}).length === 0) delete jsonSchema.properties;
});

/**
 * What a tool answers, as JSON Schema: its result or the one shape of every failure, for a client
 * throws away what the schema does not cover. Fields that a deployment adds are welcome. Each tool
 * has a schema of its own, so that every word in here is sent forty times.
 */
export function buildOutputSchema(result: Fields): JsonObject {
  const names = Object.keys(result);
  // Where none of its members is always there, each of them is a result of its own.
  const isEither = names.every((name) => result[name]?.safeParse(undefined).success);
  return coverFailure(isEither ? names : names.slice(0, 1), writeMembers(result));
}

/** A write may be done although nothing could be read of its answer: then problems say so. */
export const written = z.looseObject({}).optional();
/** What is amiss, or could not be read; each has a message, and some a field and a fix. */
export const problems = z.array(z.unknown()).optional();

/** A resource as it is shown: what is empty or false is left out, whatever field it is. */
export function describeShown(schema: z.ZodObject): z.ZodObject {
  const members = Object.entries(schema.shape).map(([name, member]) => {
    const inner = unwrap(member);
    const shown = inner instanceof z.ZodObject ? z.looseObject({}) : inner;
    // zod types a shape's members as its core's schemas, of which every one here is a ZodType.
    return [name, name === "id" ? member : z.optional(shown as z.ZodType)] as const;
  });
  return z.looseObject(Object.fromEntries(members)).describe("Empty and false fields left out");
}

/** What a client needs of it to take it for one; the rest is read and not checked. */
const failure = { type: "object", required: ["code", "message", "next"] };

function coverFailure(mains: readonly string[], properties: JsonObject): JsonObject {
  return {
    type: "object",
    properties: { ...properties, error: failure },
    anyOf: [...mains, "error"].map((name) => ({ required: [name] })),
  };
}
