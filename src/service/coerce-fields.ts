import * as z from "zod";
import { isJsonObject } from "../contract/json.ts";
import { unwrap } from "../contract/unwrap-schema.ts";

/**
 * Clients write an id as a number and a flag as a text. Where the value says the same in the type
 * that is wanted, it is taken for that; everything else stays, and is refused for its type.
 */
export function coerceFields(value: unknown, schema: z.core.$ZodType): unknown {
  const wanted = unwrap(schema);
  if (wanted instanceof z.ZodString) return isExact(value) ? String(value) : value;
  if (wanted instanceof z.ZodBoolean) return readFlag(value) ?? value;
  if (wanted instanceof z.ZodArray && Array.isArray(value)) {
    return value.map((item) => coerceFields(item, wanted.element));
  }
  if (!(wanted instanceof z.ZodObject) || !isJsonObject(value)) return value;
  const known = Object.entries<z.core.$ZodType>(wanted.shape).filter(([name]) =>
    Object.hasOwn(value, name),
  );
  return Object.fromEntries(known.map(([name, field]) => [name, coerceFields(value[name], field)]));
}

/** A fraction, or a number beyond these bounds, was maybe written with other digits. */
function isExact(value: unknown): boolean {
  return typeof value === "boolean" || Number.isSafeInteger(value);
}

function readFlag(value: unknown): boolean | undefined {
  const word = typeof value === "string" || typeof value === "number" ? String(value) : "";
  if (/^(true|1)$/i.test(word)) return true;
  return /^(false|0)$/i.test(word) ? false : undefined;
}
