import * as z from "zod";
import type { JsonObject } from "../../contract/json.ts";
import { unwrap } from "../../contract/unwrap-schema.ts";
import { problemSchema } from "../results/call-problem.ts";
import { failureSchema } from "../results/tool-failure.ts";
import { createWriter } from "./json-schema.ts";

const writeMembers = createWriter(({ jsonSchema }) => {
  // Empty texts never get this far (client/explain-end.ts), and not every client knows the word.
  delete jsonSchema.minLength;
});

type Shape = Readonly<Record<string, z.ZodType>>;

/**
 * What a tool answers, as JSON Schema: its result or the one shape of every failure, for a client
 * throws away what the schema does not cover. Fields that a deployment adds are welcome.
 */
export function buildOutputSchema(result: Shape): JsonObject {
  const names = Object.keys(result);
  // Where none of its members is always there, each of them is a result of its own.
  const isEither = names.every((name) => result[name]?.safeParse(undefined).success);
  return coverFailure(
    isEither ? names : names.slice(0, 1),
    writeMembers({ ...result, error: failureSchema }),
  );
}

/** The same for what a deployment answers to an endpoint, as far as it can be read. */
export function buildAnswerSchema(result: Shape): JsonObject {
  const names = Object.keys(result);
  const [main = ""] = names;
  return coverFailure([main], writeMembers({ ...result, ...failing }));
}

/** A write may be done although nothing could be read of its answer: then problems say so. */
export function buildWrittenSchema(name: string, record: z.ZodType): JsonObject {
  return coverFailure([name, "problems"], writeMembers({ [name]: record, ...failing }));
}

const failing = { problems: z.array(problemSchema).optional(), error: failureSchema };

/** A resource as any deployment may show it: any field but the id may be missing, or null. */
export function loosen(schema: z.ZodObject): z.ZodObject {
  const members = Object.entries(schema.shape).map(([name, member]) => {
    return [name, name === "id" ? member : z.nullish(loosenInner(unwrap(member)))] as const;
  });
  return z.looseObject(Object.fromEntries(members));
}

function loosenInner(member: z.core.$ZodType): z.core.$ZodType {
  return member instanceof z.ZodObject ? loosen(member) : member;
}

function coverFailure(mains: readonly string[], properties: JsonObject): JsonObject {
  return {
    type: "object",
    properties,
    additionalProperties: {},
    anyOf: [...mains, "error"].map((name) => ({ required: [name] })),
  };
}
