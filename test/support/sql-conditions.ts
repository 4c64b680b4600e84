import { isGroup, isSign, isWord, readName, splitAt, type Node } from "./sql-nodes.ts";

/** The equalities in a condition, as far as all of it must hold. */

export type Reference = { readonly alias: string | undefined; readonly column: string };

export type Condition = {
  readonly one: Reference;
  /** Undefined for a value, or a list of values. */
  readonly other: Reference | undefined;
};

export function readConditions(nodes: readonly Node[]): readonly Condition[] {
  if (nodes.some((node) => isWord(node, "or"))) return [];
  const parts = splitAt(nodes, (node, at) => isWord(node, "and") && !isOfBetween(nodes, at));
  return parts.flatMap((part) => {
    const [only] = part;
    if (part.length === 1 && isGroup(only)) return readConditions(only.nodes);
    return readEquality(part);
  });
}

/** `between 1 and 2`: no two conditions. */
function isOfBetween(nodes: readonly Node[], at: number): boolean {
  const last = nodes.slice(0, at).findLast((node) => isWord(node, "between", "and"));
  return isWord(last, "between");
}

function readEquality(part: readonly Node[]): readonly Condition[] {
  const border = part.findIndex((node) => isSign(node, "=") || isWord(node, "in"));
  const one = readColumn(part.slice(0, Math.max(border, 0)));
  const rest = part.slice(border + 1);
  if (isWord(part[border], "in")) {
    const [list] = rest;
    const isList = isGroup(list) && rest.length === 1 && isListOfValues(list.nodes);
    return one !== undefined && isList ? [{ one, other: undefined }] : [];
  }
  const other = readColumn(rest);
  if (one === undefined) {
    return other !== undefined && isValue(part.slice(0, Math.max(border, 0)))
      ? [{ one: other, other: undefined }]
      : [];
  }
  if (other !== undefined) return [{ one, other }];
  return isValue(rest) ? [{ one, other: undefined }] : [];
}

function isListOfValues(nodes: readonly Node[]): boolean {
  return splitAt(nodes, (node) => isSign(node, ",")).every(isValue);
}

/** A number, a text or a parameter, with or without the type that it is to have. */
function isValue(nodes: readonly Node[]): boolean {
  const [first, ...type] = nodes;
  if (isWord(first, "cast") && isGroup(type[0]) && type.length === 1) {
    return isWord(type[0].nodes[1], "as") && isValue(type[0].nodes.slice(0, 1));
  }
  if (isGroup(first)) return type.length === 0 && isValue(first.nodes);
  return first?.kind === "value" && (type.length === 0 || isSign(type[0], "::"));
}

export function readColumn(nodes: readonly Node[]): Reference | undefined {
  const [first, dot, second, more] = nodes;
  const name = readName(first);
  if (name === undefined || more !== undefined) return undefined;
  if (dot === undefined) return { alias: undefined, column: name };
  const column = readName(second);
  return isSign(dot, ".") && column !== undefined ? { alias: name, column } : undefined;
}
