import * as z from "zod";
import type { JsonObject } from "../contract/json.ts";
import { isUsableId } from "../contract/fields.ts";
import { unwrap } from "../contract/unwrap-schema.ts";
import { describeFound, type Deviation } from "../contract/deviations.ts";
import { readValue } from "./read-value.ts";

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

function readMember(field: string, schema: z.core.$ZodType, given: unknown): ReadMember {
  const note = (kind: Deviation["kind"]) => [{ kind, field, found: describeFound(given) }];
  if (given === undefined) {
    return { deviations: schema instanceof z.ZodOptional ? [] : note("missing") };
  }
  if (field === "id") return readId(given);
  if (given === null) {
    const isAllowed = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
    return { value: null, deviations: isAllowed ? [] : note("empty") };
  }
  const inner = unwrap(schema);
  if (inner instanceof z.ZodObject) return readNested(field, inner, given);
  const read = readValue(inner, given);
  if (read === undefined) return { deviations: note("unread") };
  return { value: read.value, deviations: read.isConverted ? note("converted") : [] };
}

/** Numbers are ids too, and become texts: everybody beyond this point has one kind of id. */
function readId(given: unknown): ReadMember {
  if (typeof given === "string" && isUsableId(given)) return { value: given, deviations: [] };
  const found = describeFound(given);
  if (!Number.isSafeInteger(given)) return { deviations: [{ kind: "unread", field: "id", found }] };
  return { value: String(given), deviations: [{ kind: "converted", field: "id", found }] };
}

function readNested(field: string, { shape }: z.ZodObject, given: unknown): ReadMember {
  const dropAs = (found: string): ReadMember => {
    return { deviations: [{ kind: "unread", field, found }] };
  };
  if (typeof given !== "object" || Array.isArray(given)) return dropAs(describeFound(given));
  const { record, deviations, hasId } = readRecord(shape, { ...given }, `${field}.`);
  return hasId ? { value: record, deviations } : dropAs("without an id");
}
