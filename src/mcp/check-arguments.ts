import { z } from "zod";
import { refuseArguments } from "./failure.ts";
import { quote } from "./inert.ts";
import { findNearest } from "./nearest.ts";
import type { CallProblem } from "./problems.ts";
import type { Arguments } from "./tool.ts";

/** Names, types and enums of a tool's arguments; what the fields mean is the API's to judge. */
export function checkArguments(tool: string, schema: z.ZodObject, given: unknown): Arguments {
  const unwrapped = decode(given ?? {}, schema);
  const parsed = schema.safeParse(unwrapped);
  if (parsed.success) return parsed.data;
  throw refuseArguments(
    tool,
    parsed.error.issues.flatMap((issue) => explainIssue(issue, schema, unwrapped)),
  );
}

/**
 * Some clients encode objects, lists, numbers and flags as JSON once more. A text is taken for
 * that only where the schema has no room for a text.
 */
function decode(value: unknown, schema: z.ZodType): unknown {
  const wanted = unwrap(schema);
  if (typeof value === "string") {
    if (takesText(wanted)) return value;
    const decoded = parseJson(value);
    return typeof decoded === "string" ? value : decode(decoded, schema);
  }
  if (wanted instanceof z.ZodObject && isRecord(value)) {
    const { shape } = wanted;
    const entries = Object.entries(value).map(([name, member]) => {
      const field: unknown = Object.hasOwn(shape, name) ? shape[name] : undefined;
      return [name, field instanceof z.ZodType ? decode(member, field) : member] as const;
    });
    return Object.fromEntries(entries);
  }
  if (wanted instanceof z.ZodArray && Array.isArray(value)) {
    // zod types an array's element as its core's schema, of which every schema here is one.
    return value.map((item) => decode(item, wanted.element as z.ZodType));
  }
  return value;
}

function unwrap(schema: z.ZodType): z.ZodType {
  const isWrapped = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
  return isWrapped ? unwrap(schema.unwrap() as z.ZodType) : schema;
}

function takesText(schema: z.ZodType): boolean {
  if (schema instanceof z.ZodUnion) {
    return schema.options.some((option) => takesText(option as z.ZodType));
  }
  return schema instanceof z.ZodString || schema instanceof z.ZodEnum;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

type Issue = z.core.$ZodIssue;

function explainIssue(issue: Issue, schema: z.ZodObject, given: unknown): CallProblem[] {
  const path = issue.path.map(String);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => explainUnknown([...path, key], findShape(schema, issue.path)));
  }
  const field = path.join(".");
  if (field === "") return [{ message: "arguments must be an object" }];
  if (issue.code === "invalid_value") {
    const values = issue.values.map(String);
    const wrong = readAt(given, issue.path);
    const nearest = typeof wrong === "string" ? findNearest(wrong, values) : undefined;
    const fix = nearest === undefined ? `One of ${values.join(", ")}.` : `Use ${nearest}.`;
    return [{ field, message: `${field} must be one of ${values.join(", ")}`, fix }];
  }
  return [{ field, message: `${field} ${explainType(issue, readAt(given, issue.path))}` }];
}

function explainUnknown(path: readonly string[], known: readonly string[]): CallProblem {
  const name = path.at(-1) ?? "";
  const nearest = findNearest(name, known);
  return {
    field: path.map((part) => quote(part).slice(1, -1)).join("."),
    message: `there is no argument ${quote(name)}`,
    fix: nearest === undefined ? `Known are ${known.join(", ") || "none"}.` : `Use ${nearest}.`,
  };
}

function explainType(issue: Issue, value: unknown): string {
  if (issue.code === "invalid_type") {
    return value === undefined ? "is required" : `must be ${nameType(issue.expected)}`;
  }
  if (issue.code === "too_small") return `must be at least ${issue.minimum}`;
  if (issue.code === "too_big") return `must be at most ${issue.maximum}`;
  return "has the wrong type";
}

function nameType(expected: string): string {
  const names: Readonly<Record<string, string>> = {
    int: "a whole number",
    number: "a number",
    string: "a text",
    array: "a list",
    object: "an object",
    boolean: "true or false",
  };
  return names[expected] ?? expected;
}

/** The names that an object inside the arguments may have. */
function findShape(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  const [step, ...rest] = path;
  const wanted = unwrap(schema);
  if (wanted instanceof z.ZodArray) return findShape(wanted.element as z.ZodType, rest);
  if (!(wanted instanceof z.ZodObject)) return [];
  if (step === undefined) return Object.keys(wanted.shape);
  const field: unknown = wanted.shape[String(step)];
  return field instanceof z.ZodType ? findShape(field, rest) : [];
}

function readAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inside, step) => {
    const isInside = typeof inside === "object" && inside !== null && Object.hasOwn(inside, step);
    // Own members of an object can be read by any of its names.
    return isInside ? (inside as Record<PropertyKey, unknown>)[step] : undefined;
  }, value);
}
