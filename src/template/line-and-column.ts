import type { TemplateFault, TemplateProblem } from "./page-input.ts";

/** Converts offsets in a template to lines and columns. */

/** A position in a string, with line and column numbers that start at 1. */
export type TextPosition = { readonly line: number; readonly column: number };

export function createLocator(source: string): (offset: number) => TextPosition {
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

/** Converts the offsets of faults to lines and columns. */
export function placeFaults(
  field: TemplateProblem["field"],
  source: string,
  faults: readonly TemplateFault[],
): readonly TemplateProblem[] {
  const locate = createLocator(source);
  return faults.map(({ offset, message }) => ({ field, ...locate(offset), message }));
}
