/** Returns the words of space-separated lists as a set. */
export function listWords(...lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(" ")));
}
