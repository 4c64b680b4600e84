import type * as z from "zod";
import type { JsonObject } from "../../contract/json.ts";
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

/** The same for a page, whose rows may lack any of their fields but the id. */
export function buildPageSchema(name: string, row: z.ZodType, rest: Shape): JsonObject {
  const { row: whole, ...others } = writeMembers({ row, ...rest, error: failureSchema });
  const rows = { type: "array", items: { ...whole, required: ["id"] } };
  return coverFailure([name], { [name]: rows, ...others });
}

function coverFailure(mains: readonly string[], properties: JsonObject): JsonObject {
  return {
    type: "object",
    properties,
    additionalProperties: {},
    anyOf: [...mains, "error"].map((name) => ({ required: [name] })),
  };
}
