/** Two texts side by side, line by line: what went, what came, and where. */

export type Change = {
  readonly kind: "removed" | "added";
  /** Counted from 1, in the text that the line stands in. */
  readonly line: number;
  readonly text: string;
};

/** Longer stretches are told as one removed and one added, for a matrix of them would be huge. */
const mostCompared = 1000;

export function compareLines(before: string, after: string): readonly Change[] {
  const [old, fresh] = [split(before), split(after)];
  const start = countAlike(old, fresh);
  const end = countAlike(old.slice(start).toReversed(), fresh.slice(start).toReversed());
  const gone = old.slice(start, old.length - end);
  const come = fresh.slice(start, fresh.length - end);
  const kept = findCommon(gone, come);
  return [
    ...list("removed", gone, start, new Set(kept.map(([index]) => index))),
    ...list("added", come, start, new Set(kept.map(([, index]) => index))),
  ].toSorted((one, other) => one.line - other.line);
}

/** An empty text has no line at all. */
function split(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
}

function countAlike(one: readonly string[], other: readonly string[]): number {
  const most = Math.min(one.length, other.length);
  let count = 0;
  while (count < most && one[count] === other[count]) count += 1;
  return count;
}

function list(
  kind: Change["kind"],
  lines: readonly string[],
  start: number,
  kept: ReadonlySet<number>,
): readonly Change[] {
  return lines.flatMap((text, index) => {
    return kept.has(index) ? [] : [{ kind, line: start + index + 1, text }];
  });
}

type Pair = readonly [before: number, after: number];

/** The longest row of lines that both have, in the same order. */
function findCommon(before: readonly string[], after: readonly string[]): readonly Pair[] {
  if (before.length > mostCompared || after.length > mostCompared) return [];
  const lengths = measure(before, after);
  const at = (row: number, column: number) => lengths[row]?.[column] ?? 0;
  const pairs: Pair[] = [];
  for (let [row, column] = [0, 0]; row < before.length && column < after.length;) {
    if (before[row] === after[column]) {
      pairs.push([row, column]);
      row += 1;
      column += 1;
    } else if (at(row + 1, column) >= at(row, column + 1)) row += 1;
    else column += 1;
  }
  return pairs;
}

/** For each place in both, how much they still have in common from there on. */
function measure(before: readonly string[], after: readonly string[]): readonly Uint16Array[] {
  const lengths = Array.from({ length: before.length + 1 }, () => {
    return new Uint16Array(after.length + 1);
  });
  for (let row = before.length - 1; row >= 0; row -= 1) {
    const [line, next] = [lengths[row], lengths[row + 1]];
    if (line === undefined || next === undefined) continue;
    for (let column = after.length - 1; column >= 0; column -= 1) {
      const isSame = before[row] === after[column];
      line[column] = isSame
        ? (next[column + 1] ?? 0) + 1
        : Math.max(next[column] ?? 0, line[column + 1] ?? 0);
    }
  }
  return lengths;
}
