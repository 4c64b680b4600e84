import { Filter, TypeGuards, type Template } from "liquidjs";
import { filterNames, longestList } from "./liquid-filters.ts";
import type { Fault, ReportFault } from "./page-input.ts";

/**
 * What liquidjs would parse, and no template may have: found in what it parsed, because it says
 * nothing of it. Whatever passes here takes time by its length alone.
 */

/** The largest number of a range. */
const longestRange = 1000;

/** Everything that is wrong with the shape of a parsed template. */
export function findShapeFaults(templates: readonly Template[]): readonly Fault[] {
  const faults: Fault[] = [];
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

/** How often a loop over what is parsed goes round at most: by a range's or a list's length. */
export function countRounds(templates: readonly Template[]): number {
  let rounds = longestList;
  visitParts(templates, (part) => {
    const range = readLoopedRange(part);
    if (range !== undefined) rounds = readLength(range);
  });
  return rounds;
}

type Variable = { readonly offset: number; readonly segments: readonly unknown[] };

/**
 * Every variable that is named, with what its name is made of; what is worked out is no text.
 * liquidjs can list them as well, but takes seconds for a thousand.
 */
export function listVariables(templates: readonly Template[]): readonly Variable[] {
  const found: Variable[] = [];
  visitParts(templates, (part) => {
    if (!TypeGuards.isPropertyAccessToken(part) || part.variable !== undefined) return;
    const segments = part.props.map((prop) => ("content" in prop ? prop.content : undefined));
    found.push({ offset: part.begin, segments });
  });
  return found;
}

/** Visits every object of a parsed template, whatever liquidjs put it into. */
export function visitParts(value: object, visit: (part: object) => void): void {
  visit(value);
  for (const name in value) {
    // The parts of a parsed template hold one another and nothing else.
    const part: unknown = sourceParts.has(name) ? undefined : value[name as keyof typeof value];
    if (typeof part === "object" && part !== null) visitParts(part, visit);
  }
}

/** Where a part came from: what was read there stands in the part itself. */
const sourceParts: ReadonlySet<string> = new Set(["token", "tokenizer", "liquid"]);

type Range = { readonly lhs: object; readonly rhs: object; readonly begin: number };

/** The range that a `for` goes over: it meets its own part before the range in it. */
function readLoopedRange(part: object): Range | undefined {
  const collection = "collection" in part ? part.collection : undefined;
  return TypeGuards.isRangeToken(collection) ? collection : undefined;
}

/**
 * liquidjs makes a list of every range. In an operand that costs much and counts nowhere, in a
 * variable it is longer than any other list, and beyond 2^53, where adding one changes nothing, it
 * would be filled until the memory ends.
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

type Access = {
  readonly variable?: object | undefined;
  readonly props: readonly unknown[];
  readonly begin: number;
};

/** A name that is worked out is looked for in every scope, and may be as long as any list. */
function checkRoot({ variable, props, begin }: Access, report: ReportFault): void {
  const isNamed = variable !== undefined || TypeGuards.isWordToken(props[0]);
  if (!isNamed) report(begin, "A variable must start with a name.");
}

function checkFilter(name: string, filter: object, report: ReportFault): void {
  const token: unknown = "token" in filter ? filter.token : undefined;
  // The escaping that liquidjs adds to every output stands nowhere.
  if (!hasPlace(token) || token.begin === token.end) return;
  if (filterNames.includes(name)) return;
  report(token.begin, `The filter ${name} does not exist. Use one of: ${filterNames.join(", ")}.`);
}

/** Of `a b` liquidjs takes the first and forgets the rest. */
function checkOperands(postfix: readonly unknown[], report: ReportFault): void {
  let values = 0;
  for (const token of postfix) {
    const isOperator = TypeGuards.isOperatorToken(token);
    if (!isOperator) values += 1;
    else if (token.operator !== "not") values -= 1;
    const isLoose = token === postfix.at(-1) ? values !== 1 : values < 1;
    if (isLoose && hasPlace(token)) {
      const message = isOperator
        ? `The operator ${token.operator} needs a value on each side.`
        : "An operator is missing between two values.";
      report(token.begin, message);
      return;
    }
  }
}

type Placed = { readonly begin: number; readonly end: number };

export function hasPlace(token: unknown): token is Placed {
  return typeof token === "object" && token !== null && "begin" in token && "end" in token;
}
