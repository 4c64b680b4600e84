import * as z from "zod";
import { unwrap } from "../contract/unwrap-schema.ts";

/** One value of an answer, read as what the contract says that it is. */

export type ReadValue =
  | { readonly value: unknown; readonly isConverted: boolean }
  /** It is of another kind, or does not say enough. */
  | undefined;

/** A neighbouring type is taken where nothing is lost by it: 12 for "12", true for "true". */
export function readValue(wrapped: z.core.$ZodType, given: unknown): ReadValue {
  const schema = unwrap(wrapped);
  if (schema instanceof z.ZodString) return readText(given);
  if (schema instanceof z.ZodNumber) return readInteger(given);
  if (schema instanceof z.ZodBoolean) return readFlag(given);
  if (schema instanceof z.ZodArray) return readItems(schema, given);
  return undefined;
}

function readText(given: unknown): ReadValue {
  if (typeof given === "string") return asIs(given);
  // A larger one has lost its last digits already.
  const isExact = typeof given === "number" && Math.abs(given) <= Number.MAX_SAFE_INTEGER;
  return isExact ? convert(String(given)) : undefined;
}

function readInteger(given: unknown): ReadValue {
  if (Number.isSafeInteger(given)) return asIs(given);
  if (typeof given !== "string" || !/^-?\d{1,15}$/.test(given.trim())) return undefined;
  return convert(Number(given));
}

function readFlag(given: unknown): ReadValue {
  if (typeof given === "boolean") return asIs(given);
  const flag = flags.get(given);
  return flag === undefined ? undefined : convert(flag);
}

const flags: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  ["true", true],
  ["false", false],
  [1, true],
  [0, false],
]);

function readItems({ element }: z.ZodArray, given: unknown): ReadValue {
  if (!Array.isArray(given)) return undefined;
  const items = given.map((item) => readValue(element, item));
  const read = items.filter((item) => item !== undefined);
  if (read.length < items.length) return undefined;
  const value = read.map((item) => item.value);
  return { value, isConverted: read.some(({ isConverted }) => isConverted) };
}

function asIs(value: unknown): ReadValue {
  return { value, isConverted: false };
}

function convert(value: unknown): ReadValue {
  return { value, isConverted: true };
}
