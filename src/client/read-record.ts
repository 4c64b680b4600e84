import * as z from "zod";
import type { JsonObject } from "../contract/json.ts";
import { unwrap } from "../contract/unwrap-schema.ts";
import { describeFound, type Deviation } from "../contract/deviations.ts";

/** One resource of an answer: the members that can be read, and notes of those that cannot. */

type Shape = z.ZodObject["shape"];

export type ReadRecord = {
  /** Members that the specification does not know are kept; those that are unread are not there. */
  readonly record: JsonObject;
  readonly deviations: readonly Deviation[];
  readonly hasId: boolean;
};

export function readRecord(shape: Shape, given: JsonObject, within = ""): ReadRecord {
  const deviations: Deviation[] = [];
  const others = Object.entries(given).filter(([name]) => !Object.hasOwn(shape, name));
  const known = Object.entries(shape).flatMap(([name, schema]) => {
    const read = readMember(`${within}${name}`, schema, given[name]);
    deviations.push(...read.deviations);
    return read.value === undefined ? [] : [[name, read.value] as const];
  });
  const record = Object.fromEntries([...known, ...others]);
  return { record, deviations, hasId: typeof record["id"] === "string" };
}

type ReadMember = { readonly value?: unknown; readonly deviations: readonly Deviation[] };

/** What is missing or null is read as such. */
function readMember(field: string, schema: z.core.$ZodType, given: unknown): ReadMember {
  if (given === undefined || given === null) return { value: given, deviations: [] };
  // Some servers number their resources. Everywhere else an id is a text.
  if (field === "id" && typeof given === "number" && Number.isSafeInteger(given)) {
    return { value: String(given), deviations: [] };
  }
  const inner = unwrap(schema);
  if (inner instanceof z.ZodObject) return readNested(field, inner, given);
  const { success } = z.safeParse(inner, given);
  if (!success) return { deviations: [{ field, found: describeFound(given) }] };
  return { value: given, deviations: [] };
}

function readNested(field: string, { shape }: z.ZodObject, given: unknown): ReadMember {
  const dropAs = (found: string): ReadMember => {
    return { deviations: [{ field, found }] };
  };
  if (typeof given !== "object" || Array.isArray(given)) return dropAs(describeFound(given));
  const { record, deviations, hasId } = readRecord(shape, { ...given }, `${field}.`);
  return hasId ? { value: record, deviations } : dropAs("without an id");
}
