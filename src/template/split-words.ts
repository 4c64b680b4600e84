/** A set of words, written in lines with a space between two of them. */
export function listWords(...lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(" ")));
}
