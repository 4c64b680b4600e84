import * as z from "zod";
import { links } from "../../contract/links.ts";
import type { FieldProblem } from "../../contract/problem.ts";
import { explainUnknown, type GivenRow } from "../files/columns.ts";

/** A row that came as JSON: the fields of a link, and what an answer has beside them. */

const { shape } = links.create.body;

/** The contract's schemas drop what they do not know; here it is most likely a mistyped name. */
const rowObject = z.strictObject({
  ...shape,
  ios_app: z.strictObject(shape.ios_app.unwrap().unwrap().shape).nullish(),
  android_app: z.strictObject(shape.android_app.unwrap().unwrap().shape).nullish(),
  options: z.strictObject(shape.options.unwrap().unwrap().shape).nullish(),
  id: z.string().nullish(),
  ios_app_id: z.string().nullish(),
  android_app_id: z.string().nullish(),
  shortened_path: z.unknown().optional(),
  clicks: z.unknown().optional(),
  address: z.unknown().optional(),
  short_address: z.unknown().optional(),
});

/** A member that is not there leaves its field alone; null or an empty text clears it. */
export function readObject(given: unknown): GivenRow {
  const parsed = rowObject.safeParse(given);
  if (!parsed.success) return readRest(given, parsed.error.issues);
  const {
    id,
    ios_app_id,
    android_app_id,
    shortened_path: _path,
    clicks: _clicks,
    address: _address,
    short_address: _short,
    ...fields
  } = parsed.data;
  const problems = [
    ...takeAppId(fields, "ios_app", ios_app_id),
    ...takeAppId(fields, "android_app", android_app_id),
  ];
  return { ...(id && { id }), fields, problems };
}

/** What is wrong with the other members is told along with those that could not be read. */
function readRest(given: unknown, issues: readonly z.core.$ZodIssue[]): GivenRow {
  const problems = issues.flatMap(explain);
  const faulty = new Set(issues.flatMap(listFaulty));
  if (typeof given !== "object" || given === null || faulty.size === 0) {
    return { fields: {}, problems };
  }
  // The recursion ends: without the faulty members the row fits the schema.
  const rest = readObject(
    Object.fromEntries(Object.entries(given).filter(([name]) => !faulty.has(name))),
  );
  return { ...rest, problems: [...problems, ...rest.problems] };
}

/** The row's own members: of an app that is half read, false things would be told. */
function listFaulty(issue: z.core.$ZodIssue): readonly string[] {
  if (issue.path.length > 0) return [String(issue.path[0])];
  return issue.code === "unrecognized_keys" ? issue.keys : [];
}

type AppChoices = { ios_app?: AppChoice; android_app?: AppChoice };
type AppChoice = { id?: string | null | undefined } | null | undefined;

/** An answer names the app of a link by its id alone. */
function takeAppId(
  fields: AppChoices,
  app: keyof AppChoices,
  id: string | null | undefined,
): readonly FieldProblem[] {
  if (id === undefined) return [];
  if (fields[app] !== undefined) {
    return [{ field: app, message: `${app} and ${app}_id mean the same thing; keep only one` }];
  }
  fields[app] = id ? { id } : null;
  return [];
}

function explain(issue: z.core.$ZodIssue): readonly FieldProblem[] {
  const path = issue.path.map(String);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => explainUnknown([...path, key].join(".")));
  }
  const field = path.join(".");
  const wanted = issue.code === "invalid_type" ? kinds[issue.expected] : undefined;
  const message = `${field || "The row"} must be ${wanted ?? "of another type"}`;
  return [{ field, message }];
}

const kinds: Readonly<Partial<Record<string, string>>> = {
  string: "text",
  boolean: "true or false",
  array: "a list",
  object: "an object of link fields",
};
