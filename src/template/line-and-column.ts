import type { Fault, TemplateProblem } from "./page-input.ts";

/** Where something stands in a source, as people count: lines and columns from 1. */
export type Place = { readonly line: number; readonly column: number };

export function createLocator(source: string): (offset: number) => Place {
  const starts = [0];
  for (const { index } of source.matchAll(/\r\n|\r|\n/g)) {
    starts.push(index + (source.startsWith("\r\n", index) ? 2 : 1));
  }
  return (offset) => {
    let line = starts.findLastIndex((start) => start <= offset);
    if (line < 0) line = 0;
    return { line: line + 1, column: offset - (starts[line] ?? 0) + 1 };
  };
}

/** Faults of a template's text, as its author is told of them. */
export function placeFaults(
  field: TemplateProblem["field"],
  source: string,
  faults: readonly Fault[],
): readonly TemplateProblem[] {
  const locate = createLocator(source);
  return faults.map(({ offset, message }) => ({ field, ...locate(offset), message }));
}
