import * as z from "zod";

/** What a field holds when it holds anything: its schema, but for "may be absent or null". */
export function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  const isWrapped = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
  return isWrapped ? unwrap(schema.unwrap()) : schema;
}
