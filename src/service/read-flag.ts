const trueWords = new Set(["1", "t", "T", "true", "TRUE"]);
const falseWords = new Set(["0", "f", "F", "false", "FALSE"]);

/** A yes or no in a query, as Ransack reads it; undefined for any other word. */
export function readFlag(word: string): boolean | undefined {
  if (trueWords.has(word)) return true;
  return falseWords.has(word) ? false : undefined;
}
