/**
 * A cell that a spreadsheet would run as a formula is written with an apostrophe before it, which
 * the spreadsheet takes for "this is text", and reading takes it away again. Apostrophes that were
 * there before such a beginning count as part of it, so that every text comes back as it was.
 */

const beginning = String.raw`[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]`;
const runs = new RegExp(`^'*${beginning}`);
const defused = new RegExp(`^'+${beginning}`);

export function escapeFormula(text: string): string {
  return runs.test(text) ? `'${text}` : text;
}

export function unescapeFormula(cell: string): string {
  return defused.test(cell) ? cell.slice(1) : cell;
}
