/**
 * Parses true or false from a query or a body, as Ransack does. Returns undefined for other words.
 */
export function readFlag(word: string): boolean | undefined {
  if (/^(?:1|t|true)$/i.test(word)) return true;
  return /^(?:0|f|false)$/i.test(word) ? false : undefined;
}
