/** Suggests known names for an unknown name, for "did you mean …?". */

const mostSuggested = 3;

/**
 * Suggests known names for `name`. Prefers names with the same meaning or with all words of `name`.
 * Otherwise suggests the name with the most similar spelling, or else names that consist of some of
 * those words.
 */
export function suggestNames(
  name: string,
  known: Iterable<string>,
  meanings: Readonly<Record<string, readonly string[]>> = {},
): readonly string[] {
  const names = [...known];
  const nearest = findNearest(name, names);
  if (nearest !== undefined && normalize(nearest) === normalize(name)) return [nearest];
  const words = listWords(name);
  const usual = words.join("_");
  const synonyms = Object.hasOwn(meanings, usual) ? (meanings[usual] ?? []) : [];
  const longer = names.filter((other) => isPartOf(words, listWords(other)));
  const found = new Set([...synonyms.filter((other) => names.includes(other)), ...longer]);
  if (found.size > 0) return [...found].slice(0, mostSuggested);
  if (nearest !== undefined) return [nearest];
  return names.filter((other) => isPartOf(listWords(other), words)).slice(0, mostSuggested);
}

function isPartOf(some: readonly string[], all: readonly string[]): boolean {
  return some.length > 0 && some.every((word) => all.includes(word));
}

/** Splits a name such as `socialTitle` or `social-title` into words. */
function listWords(name: string): readonly string[] {
  const parted = name.slice(0, mostCharacters).replace(/([a-z\d])([A-Z])/g, "$1_$2");
  return parted
    .toLowerCase()
    .split(/[-_\s.]+/)
    .filter((word) => word !== "");
}

/** Returns the known name with the most similar spelling. Returns undefined if none is similar. */
export function findNearest(name: string, known: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let least = Math.max(2, Math.floor(name.length / 2));
  for (const candidate of known) {
    const distance = countEdits(normalize(name), normalize(candidate), least);
    if (distance < least) [nearest, least] = [candidate, distance];
  }
  return nearest;
}

/** The number of characters to compare. An untrusted name may be a megabyte long. */
const mostCharacters = 64;

/** Maps `iosFallbackUrl`, `ios-fallback-url` and `ios_fallback_url` to the same string. */
function normalize(name: string): string {
  return name
    .slice(0, mostCharacters)
    .replace(/[-_\s.]+/g, "")
    .toLowerCase();
}

/** Counts inserted, deleted, replaced and swapped letters. Stops counting at `most`. */
function countEdits(first: string, second: string, most: number): number {
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
