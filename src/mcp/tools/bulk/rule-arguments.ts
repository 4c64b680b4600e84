import * as z from "zod";
import { listRuledFields, readHost } from "../../../bulk/plan/change-by-rule.ts";
import type { LinkFields } from "../../../contract/links.ts";
import type { FieldProblem } from "../../../contract/problem.ts";
import { findPathFault, decodePath } from "../../../contract/rules/link-path.ts";
import { addressFields } from "../../../contract/rules/link-rules.ts";
import type { PlanRule } from "../../../state/plans.ts";
import type { ToolFields } from "../../schemas/input-schema.ts";

/** The arguments for rules that compute a new value for each link. */

export type RuleArguments = {
  readonly replace?: readonly Replacement[];
  readonly add_query?: QueryRule;
  readonly path_prefix?: string;
};

export type Replacement = {
  readonly field: string;
  readonly from: string;
  readonly to: string;
  /**
   * `host` matches the whole host of a URL, `start` the beginning of a field without regard to
   * case, and `text` every occurrence of a string.
   */
  readonly match: "host" | "start" | "text";
};

type QueryRule = { readonly field: string; readonly values: Readonly<Record<string, string>> };

/** Lists the rules in the order in which they are applied. */
export function listRules({ replace = [], add_query, path_prefix }: RuleArguments): PlanRule[] {
  const values = Object.entries(add_query?.values ?? {});
  const field = add_query?.field ?? "";
  const prefix = { field: "path", kind: "prefix", from: "", to: path_prefix ?? "" } as const;
  return [
    ...replace.map(({ match: kind, ...rule }) => ({ ...rule, kind })),
    ...values.map(([from, to]) => ({ field, kind: "query" as const, from, to })),
    ...(path_prefix === undefined ? [] : [prefix]),
  ];
}

/** Finds problems with the rules themselves, regardless of the links. */
export function findRuleFaults(
  rules: RuleArguments,
  changes: LinkFields = {},
): readonly FieldProblem[] {
  const { replace = [], add_query, path_prefix } = rules;
  const faults: readonly Fault[] = [
    ["replace", rules.replace?.length === 0 ? "must not be empty" : undefined],
    ...replace.flatMap((each, index) => findReplacementFaults(each, `replace.${index}`)),
    ...(add_query === undefined ? [] : [findQueryFault(add_query)]),
    ["path_prefix", path_prefix === undefined ? undefined : findPrefixFault(path_prefix)],
  ];
  const found = faults.flatMap(([field, fault]) =>
    fault === undefined ? [] : [{ field, message: `${field} ${fault}` }],
  );
  return [...found, ...findTwice(listRules(rules), changes)];
}

const isAddressField = (field: string) => addressFields.some((name) => name === field);

type Fault = readonly [field: string, fault: string | undefined];

function findReplacementFaults(
  { field, from, to, match }: Replacement,
  place: string,
): readonly Fault[] {
  if (from === "") return [[`${place}.from`, "is empty; give the text to replace"]];
  if (match !== "host") return [];
  const fault = `cannot be "host", because ${field} has no host; use "text"`;
  if (!isAddressField(field)) return [[`${place}.match`, fault]];
  return [
    [`${place}.from`, findHostFault(from)],
    [`${place}.to`, findHostFault(to)],
  ];
}

/** A host may include a port, but no wildcard. */
function findHostFault(host: string): string | undefined {
  if (host.includes("://")) return "is a whole address; give only its host, such as example.com";
  if (/[/?#\\@%*\s\p{Cc}]/u.test(host)) return "is not a host such as example.com";
  return readHost("https://", host) === undefined ? "is not a host name" : undefined;
}

function findQueryFault({ field, values }: QueryRule): Fault {
  if (!isAddressField(field)) {
    return ["add_query.field", `cannot be "${field}", which has no query`];
  }
  const names = Object.keys(values);
  const isBroken = Object.entries(values)
    .flat()
    .some((text) => !text.isWellFormed());
  const fault = isBroken ? "contains an incomplete character" : undefined;
  const isEmpty = names.length === 0 || names.includes("");
  return [
    "add_query.values",
    isEmpty ? "needs at least one parameter, and a name for each" : fault,
  ];
}

function findPrefixFault(prefix: string): string | undefined {
  const normal = decodePath(prefix);
  if (normal === undefined || normal.trim() === "") {
    return "must be a valid path prefix, such as promo/";
  }
  // A prefix is not a complete path, so the check appends a letter.
  return findPathFault(`${normal}a`);
}

/** Finds fields that have both a rule and a new value, because the result would be ambiguous. */
function findTwice(rules: readonly PlanRule[], changes: LinkFields): readonly FieldProblem[] {
  const twice = [...listRuledFields(rules)].filter((field) => field in changes);
  return twice.map((field) => {
    return {
      field: `changes.${field}`,
      message: `${field} is also changed by a rule; keep only one of the two`,
    };
  });
}

/** Builds the schema of the rules. The published schema omits the field names, to stay short. */
export function describeRules(field: z.ZodType<string>): ToolFields {
  const match = z.enum(["host", "start", "text"]);
  const replacement = z.strictObject({ field, from: z.string(), to: z.string(), match });
  const values = z.record(z.string(), z.string());
  return {
    replace: z
      .array(replacement)
      .max(mostReplacements)
      .optional()
      .describe("With filters and update. host: only the host; start: only the beginning"),
    add_query: z.strictObject({ field, values }).optional(),
    path_prefix: z.string().optional(),
  };
}

const mostReplacements = 50;
