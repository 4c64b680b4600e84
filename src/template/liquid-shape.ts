import { Filter, TypeGuards, type Template } from "liquidjs";
import { filterNames, longestList } from "./liquid-filters.ts";
import type { TemplateFault, ReportFault } from "./page-input.ts";

/**
 * Finds syntax that liquidjs accepts but templates may not contain. All other syntax is rendered in
 * a time proportional to its length.
 */

/** The largest number that a range may contain. */
const longestRange = 1000;

export function findShapeFaults(templates: readonly Template[]): readonly TemplateFault[] {
  const faults: TemplateFault[] = [];
  const report = (offset: number, message: string) => faults.push({ offset, message });
  const looped = new Set<object>();
  visitParts(templates, (part) => {
    const range = readLoopedRange(part);
    if (range !== undefined) looped.add(range);
    if (TypeGuards.isRangeToken(part)) checkRange(part, looped, report);
    if (TypeGuards.isPropertyAccessToken(part)) checkRoot(part, report);
    if (part instanceof Filter) checkFilter(part.name, part, report);
    if ("postfix" in part && Array.isArray(part.postfix)) checkOperands(part.postfix, report);
  });
  return faults;
}

/** Returns how often a loop can run at most: the size of its range, or of the longest list. */
export function countRounds(templates: readonly Template[]): number {
  let rounds = longestList;
  visitParts(templates, (part) => {
    const range = readLoopedRange(part);
    if (range !== undefined) rounds = readLength(range);
  });
  return rounds;
}

/** The segments of a variable's name, and its position in the source. */
type NamedVariable = { readonly offset: number; readonly segments: readonly unknown[] };

/**
 * Lists all variables, with the segments of their names. A computed segment is undefined. Does not
 * use liquidjs's own function, which takes seconds for a thousand variables.
 */
export function listVariables(templates: readonly Template[]): readonly NamedVariable[] {
  const found: NamedVariable[] = [];
  visitParts(templates, (part) => {
    if (!TypeGuards.isPropertyAccessToken(part) || part.variable !== undefined) return;
    const segments = part.props.map((prop) => ("content" in prop ? prop.content : undefined));
    found.push({ offset: part.begin, segments });
  });
  return found;
}

export function visitParts(value: object, visit: (part: object) => void): void {
  visit(value);
  for (const name in value) {
    // The cast is safe, because `name` is a property of `value`.
    const part: unknown = sourceParts.has(name) ? undefined : value[name as keyof typeof value];
    if (typeof part === "object" && part !== null) visitParts(part, visit);
  }
}

/** Properties that refer back to the source text, so they contain no further parts. */
const sourceParts: ReadonlySet<string> = new Set(["token", "tokenizer", "liquid"]);

type Range = { readonly lhs: object; readonly rhs: object; readonly begin: number };

/** Returns the range of a `for` loop, which `visitParts` visits after the loop itself. */
function readLoopedRange(part: object): Range | undefined {
  const collection = "collection" in part ? part.collection : undefined;
  return TypeGuards.isRangeToken(collection) ? collection : undefined;
}

/**
 * Rejects ranges outside of a `for`, and ranges with large numbers. liquidjs converts each range to
 * a list, but counts the list's length only in a `for`. Above 2^53, adding 1 has no effect, so the
 * list would fill all memory.
 */
function checkRange(range: Range, looped: ReadonlySet<object>, report: ReportFault): void {
  const isSmall = [range.lhs, range.rhs].every((bound) => {
    if (!TypeGuards.isNumberToken(bound)) return false;
    return Number.isInteger(bound.content) && Math.abs(bound.content) <= longestRange;
  });
  if (!looped.has(range)) report(range.begin, "A range is only allowed in {% for … in (1..3) %}.");
  else if (!isSmall) report(range.begin, rangeBounds);
}

const rangeBounds = `A range needs whole numbers from -${longestRange} to ${longestRange}.`;

function readLength({ lhs, rhs }: Range): number {
  if (!TypeGuards.isNumberToken(lhs) || !TypeGuards.isNumberToken(rhs)) return longestRange * 2;
  return Math.max(1, rhs.content - lhs.content + 1);
}

type PropertyAccess = {
  readonly variable?: object | undefined;
  readonly props: readonly unknown[];
  readonly begin: number;
};

/** Rejects variables with a computed name. liquidjs would look up such a name in every scope. */
function checkRoot({ variable, props, begin }: PropertyAccess, report: ReportFault): void {
  const isNamed = variable !== undefined || TypeGuards.isWordToken(props[0]);
  if (!isNamed) report(begin, "A variable must start with a name.");
}

function checkFilter(name: string, filter: object, report: ReportFault): void {
  const token: unknown = "token" in filter ? filter.token : undefined;
  // liquidjs adds an escape filter to every output. That filter has no position in the source.
  if (!hasPosition(token) || token.begin === token.end) return;
  if (filterNames.includes(name)) return;
  report(token.begin, `The filter ${name} does not exist. Use one of: ${filterNames.join(", ")}.`);
}

/** Reports missing operators and operands. For example, liquidjs would ignore the `b` in `a b`. */
function checkOperands(postfix: readonly unknown[], report: ReportFault): void {
  let values = 0;
  for (const token of postfix) {
    const isOperator = TypeGuards.isOperatorToken(token);
    if (!isOperator) values += 1;
    else if (token.operator !== "not") values -= 1;
    const isLoose = token === postfix.at(-1) ? values !== 1 : values < 1;
    if (isLoose && hasPosition(token)) {
      const message = isOperator
        ? `The operator ${token.operator} needs a value on each side.`
        : "An operator is missing between two values.";
      report(token.begin, message);
      return;
    }
  }
}

type SourceRange = { readonly begin: number; readonly end: number };

export function hasPosition(token: unknown): token is SourceRange {
  return typeof token === "object" && token !== null && "begin" in token && "end" in token;
}
