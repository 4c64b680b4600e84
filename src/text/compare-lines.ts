/** Compares two texts line by line: which lines were removed, which were added, and where. */

export type Change = {
  readonly kind: "removed" | "added";
  /** Counted from 1, in the text that the line stands in. */
  readonly line: number;
  readonly text: string;
};

/** Longer stretches are all removed and all added lines: a matrix of them would be huge. */
const mostCompared = 1000;

export function compareLines(before: string, after: string): readonly Change[] {
  const [old, fresh] = [splitLines(before), splitLines(after)];
  const start = countEqual(old, fresh);
  const end = countEqual(old.slice(start).toReversed(), fresh.slice(start).toReversed());
  const removed = old.slice(start, old.length - end);
  const added = fresh.slice(start, fresh.length - end);
  const common = findCommon(removed, added);
  return [
    ...listChanges("removed", removed, start, new Set(common.map(([index]) => index))),
    ...listChanges("added", added, start, new Set(common.map(([, index]) => index))),
  ].toSorted((one, other) => one.line - other.line);
}

/** An empty text has no line at all. */
function splitLines(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
}

function countEqual(one: readonly string[], other: readonly string[]): number {
  const most = Math.min(one.length, other.length);
  let count = 0;
  while (count < most && one[count] === other[count]) count += 1;
  return count;
}

function listChanges(
  kind: Change["kind"],
  lines: readonly string[],
  start: number,
  common: ReadonlySet<number>,
): readonly Change[] {
  return lines.flatMap((text, index) =>
    common.has(index) ? [] : [{ kind, line: start + index + 1, text }],
  );
}

type Pair = readonly [before: number, after: number];

/** The longest sequence of lines that both have, in the same order. */
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

/** For each pair of places, how many lines the two have in common from there on. */
function measure(before: readonly string[], after: readonly string[]): readonly Uint16Array[] {
  const lengths = Array.from(before, () => new Uint16Array(after.length + 1));
  lengths.push(new Uint16Array(after.length + 1));
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
