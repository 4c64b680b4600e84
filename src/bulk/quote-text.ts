/** A stranger's text inside one of our sentences: quoted, on one line and not endless. */
export function quoteText(text: string, most = 60): string {
  const line = text.replace(/\s+/g, " ");
  return JSON.stringify(line.length > most ? `${line.slice(0, most).toWellFormed()}…` : line);
}
