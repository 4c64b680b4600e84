/** The known name that a mistyped one was most likely meant to be, or undefined. */
export function findNearest(name: string, known: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let least = Math.max(2, Math.floor(name.length / 2));
  for (const candidate of known) {
    const distance = measure(normalize(name), normalize(candidate), least);
    if (distance < least) [nearest, least] = [candidate, distance];
  }
  return nearest;
}

/** `iosFallbackUrl`, `ios-fallback-url` and `ios_fallback_url` are spellings of one name. */
function normalize(name: string): string {
  return name
    .slice(0, 64)
    .replace(/[-_\s.]+/g, "")
    .toLowerCase();
}

/**
 * How many letters were added, left out, replaced or swapped with their neighbour; or at least
 * `most` when that is no smaller.
 */
function measure(first: string, second: string, most: number): number {
  const one = Array.from(first);
  const other = Array.from(second);
  if (Math.abs(one.length - other.length) >= most) return most;
  let before: readonly number[] = [];
  let row: readonly number[] = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of one.entries()) {
    const next = [index + 1];
    for (const [column, candidate] of other.entries()) {
      const replaced = (row[column] ?? 0) + Number(letter !== candidate);
      const isSwapped = letter === other[column - 1] && candidate === one[index - 1];
      const swapped = isSwapped ? (before[column - 1] ?? 0) + 1 : most;
      next.push(Math.min(replaced, swapped, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[other.length] ?? most;
}
