/** As a shell reads it as one word. */
export function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A path that cannot be the address of a database, so that it may be shown. */
export function isPlainPath(path: string): boolean {
  return /^[\w./-]+$/.test(path);
}
