/** Quotes a text so that a shell reads it as one word. */
export function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Whether a path is certainly not a database address, so that it can be shown. */
export function isPlainPath(path: string): boolean {
  return /^[\w./-]+$/.test(path);
}
