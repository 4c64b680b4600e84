import { z } from "zod";
import { failureSchema } from "./failure.ts";
import type { JsonObject } from "./tool.ts";

/**
 * What a tool answers, as JSON Schema: its result or the one shape of every failure, for a client
 * throws away what the schema does not cover. Fields that a deployment adds are welcome.
 */
export function publishOutput(result: Readonly<Record<string, z.ZodType>>): JsonObject {
  const optional = Object.entries(result).map(([name, schema]) => [name, schema.optional()]);
  const schema = z.looseObject({
    ...Object.fromEntries(optional),
    error: failureSchema.optional(),
  });
  const { $schema: _, ...published } = z.toJSONSchema(schema, { io: "input" });
  const [main = ""] = Object.keys(result);
  return { ...published, anyOf: [{ required: [main] }, { required: ["error"] }] };
}
