import * as z from "zod";
import { fieldMeanings, unwrap } from "../../contract/fields.ts";
import { isJsonObject, isNestedTooDeep, type JsonObject } from "../../contract/json.ts";
import { limits } from "../../contract/limits.ts";
import { findNearest, suggestNames } from "../../text/nearest-name.ts";
import { quote, showName } from "../../text/show-hidden.ts";
import type { CallProblem } from "../results/call-problem.ts";
import { refuseArguments } from "../results/tool-failure.ts";
import { parseJson } from "./check-filters.ts";

/** Validates the arguments of a tool call, and explains each problem to the assistant. */

/** Limits the output, because a hostile client could cause a million problems. */
const mostProblems = 20;

/**
 * Validates the names, types and enums of a tool's arguments. The API validates everything else.
 */
export function checkArguments(
  tool: string,
  schema: z.ZodObject,
  given: unknown,
  nullable: readonly string[] = [],
): JsonObject {
  requireFlat(tool, given);
  const plain = schema.safeParse(given ?? {});
  if (plain.success) return plain.data;
  const decoded = decode(given ?? {}, schema, nullable);
  requireFlat(tool, decoded);
  const parsed = schema.safeParse(decoded);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const problems = issues.flatMap((issue) => explainIssue(issue, schema, decoded));
  throw refuseArguments(tool, problems.slice(0, mostProblems));
}

/** Rejects deeply nested values, which later code cannot handle. */
function requireFlat(tool: string, value: unknown): void {
  if (!isNestedTooDeep(value)) return;
  const message = `arguments are nested too deeply: at most ${limits.json_levels} levels`;
  throw refuseArguments(tool, [{ message }]);
}

/**
 * Some clients encode objects, lists, numbers and booleans as JSON strings. A string is decoded
 * only if the schema does not allow strings.
 */
function decode(
  value: unknown,
  schema: z.core.$ZodType,
  nullable: readonly string[] = [],
): unknown {
  const wanted = unwrap(schema);
  if (typeof value === "string") {
    if (takesText(wanted)) return value;
    const decoded = parseJson(value);
    return typeof decoded === "string" ? value : decode(decoded, schema, nullable);
  }
  if (wanted instanceof z.ZodObject && isJsonObject(value)) {
    const members = Object.entries(value).flatMap(([name, member]) => {
      const field = findMember(wanted, name);
      if (member === null && isLeftOut(field) && !nullable.includes(name)) return [];
      return [[name, field === undefined ? member : decode(member, field)] as const];
    });
    return Object.fromEntries(members);
  }
  if (wanted instanceof z.ZodArray && Array.isArray(value)) {
    return value.map((item) => decode(item, wanted.element));
  }
  return value;
}

/** Whether null counts as omitted. Some clients send null instead of leaving the argument out. */
function isLeftOut(field: z.core.$ZodType | undefined): boolean {
  return field instanceof z.ZodOptional && !(field.unwrap() instanceof z.ZodNullable);
}

function takesText(schema: z.core.$ZodType): boolean {
  if (schema instanceof z.ZodUnion) return schema.options.some(takesText);
  return schema instanceof z.ZodString || schema instanceof z.ZodEnum;
}

/** Finds a property's schema. Skips inherited names such as `constructor`. */
function findMember({ shape }: z.ZodObject, name: string): z.core.$ZodType | undefined {
  return Object.hasOwn(shape, name) ? shape[name] : undefined;
}

type Issue = z.core.$ZodIssue;

function explainIssue(issue: Issue, schema: z.ZodObject, given: unknown): CallProblem[] {
  const { path } = issue;
  if (issue.code === "unrecognized_keys") {
    const known = listMembers(schema, path);
    const unknown = issue.keys.slice(0, mostProblems);
    return unknown.map((name) => explainUnknown([...path, name], known));
  }
  const field = writePath(path);
  if (field === "") return [{ message: "arguments must be an object" }];
  const value = readAt(given, path);
  if (issue.code !== "invalid_value") {
    return [{ field, message: `${field} ${explainFault(issue, value)}` }];
  }
  const values = issue.values.map(String);
  const nearest = typeof value === "string" ? findNearest(value, values) : undefined;
  const message = `${field} must be one of ${values.join(", ")}`;
  return [{ field, message, ...(nearest && { fix: `Use ${nearest}.` }) }];
}

function explainUnknown(path: readonly PropertyKey[], known: readonly string[]): CallProblem {
  const name = String(path.at(-1));
  const meant = suggestNames(name, known, fieldMeanings).join(" or ");
  return {
    field: writePath(path),
    message: `unknown argument ${quote(name)}`,
    fix: meant === "" ? `Known arguments: ${known.join(", ") || "none"}.` : `Use ${meant}.`,
  };
}

function explainFault(issue: Issue, value: unknown): string {
  if (issue.code === "custom") return issue.message;
  if (issue.code === "invalid_type") {
    if (value === undefined) return "is required";
    return `must be ${typeNames[issue.expected] ?? issue.expected}`;
  }
  if (issue.code === "invalid_union") return "must be text, a number, true or false, or a list";
  if (issue.code === "too_small") return `must be at least ${issue.minimum}`;
  if (issue.code !== "too_big") return "has the wrong type";
  const isList = Array.isArray(value);
  return isList ? `has more than ${issue.maximum} items` : `must be at most ${issue.maximum}`;
}

const typeNames: Readonly<Partial<Record<string, string>>> = {
  int: "a whole number",
  number: "a number",
  string: "text",
  array: "a list",
  object: "an object",
  record: "an object",
  boolean: "true or false",
};

/** Lists the allowed property names at a path inside the arguments. */
function listMembers(schema: z.core.$ZodType, path: readonly PropertyKey[]): readonly string[] {
  const wanted = unwrap(schema);
  const [step, ...rest] = path;
  if (wanted instanceof z.ZodArray) return listMembers(wanted.element, rest);
  if (!(wanted instanceof z.ZodObject)) return [];
  if (step === undefined) return Object.keys(wanted.shape);
  const field = findMember(wanted, String(step));
  return field === undefined ? [] : listMembers(field, rest);
}

function readAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inside, step) => {
    const isInside = typeof inside === "object" && inside !== null && Object.hasOwn(inside, step);
    return isInside ? (inside as Readonly<Record<PropertyKey, unknown>>)[step] : undefined;
  }, value);
}

/** Formats a path such as `filters[0].field`, without hidden characters in its names. */
function writePath(path: readonly PropertyKey[]): string {
  const steps = path.map((step) =>
    typeof step === "number" ? `[${step}]` : `.${showName(String(step))}`,
  );
  return steps.join("").replace(/^\./, "");
}
