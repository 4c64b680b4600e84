/** Returns a set of the words in space-separated lists. */
export function listWords(...lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(" ")));
}
