import { TextDecoder } from "node:util";
import { CsvError, parse, type Info } from "csv-parse";

/** Parses CSV from many programs as a stream, and writes portable CSV. */

export type TextSource = string | AsyncIterable<string | Uint8Array>;

/** `line` is the number of the line on which the record begins. */
export type CsvRecord = { readonly line: number; readonly cells: readonly string[] };

/** Thrown if the file cannot be parsed from this line on. */
export class CsvFault extends Error {
  override readonly name = "CsvFault";
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/** A record longer than this would not fit in a request, so it must lack a closing quote. */
const mostCharacters = 1024 * 1024;
/** Text is parsed in pieces of this length, so that other requests can run in between. */
const pieceCharacters = 4096;

/** Yields all records except blank ones. Throws at the first line that cannot be parsed. */
export async function* readCsv(source: TextSource): AsyncGenerator<CsvRecord> {
  // Count lines here, because the parser does not report on which line a record begins.
  let lines = 0;
  let blankLines = 0;
  let isCut = false;
  const taken: CsvRecord[] = [];
  const findLine = () => lines + blankLines + 1;
  const text = readText(source, () => (isCut = true));
  const beginning = await readBeginning(text);
  const parser = createParser(findSeparator(beginning), (cells, { empty_lines }) => {
    blankLines = empty_lines;
    if (cells.some((cell) => cell !== "")) taken.push({ line: findLine(), cells });
    lines += 1 + (cells.join(" ").match(/\r\n?|\n/g)?.length ?? 0);
    // Returning undefined keeps the parser from also emitting the record.
    return undefined;
  });
  let fault: CsvError | undefined;
  try {
    for await (const piece of cutText(beginning, text)) {
      await parser.read(piece);
      yield* taken.splice(0);
    }
    await parser.end();
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    blankLines = parser.info.empty_lines;
    fault = error;
  }
  // The last record is incomplete if the text was cut off inside it.
  const lost = isCut && fault === undefined ? taken.pop() : undefined;
  yield* taken;
  if (isCut) throw new CsvFault(lost?.line ?? findLine(), notUtf8);
  if (fault !== undefined) throw new CsvFault(findLine(), faults[fault.code] ?? fault.message);
}

const faults: Readonly<Partial<Record<CsvError["code"], string>>> = {
  INVALID_OPENING_QUOTE:
    "A cell contains a quote but does not start with one; " +
    'put the cell in quotes and double each quote in it ("")',
  CSV_INVALID_CLOSING_QUOTE:
    'There is text after the closing quote of a cell; double each quote inside a cell ("")',
  CSV_QUOTE_NOT_CLOSED: "A quoted cell has no closing quote",
  CSV_MAX_RECORD_SIZE: "The record is longer than 1 MiB; is a closing quote missing?",
};

type OnCsvRecord = (cells: string[], info: Pick<Info, "empty_lines">) => undefined;

function createParser(delimiter: string, on_record: OnCsvRecord) {
  const parser = parse({
    bom: true,
    delimiter,
    max_record_size: mostCharacters,
    on_record,
    record_delimiter: ["\r\n", "\n", "\r"],
    relax_column_count: true,
    skip_empty_lines: true,
  });
  let fault: Error | undefined;
  parser.on("error", (error) => (fault = error));
  /** Waits for a parser call. The parser emits an error only after the call's callback. */
  const wait = async (begin: (done: () => void) => void) => {
    await new Promise<void>((resolve) => begin(() => setImmediate(resolve)));
    if (fault !== undefined) throw fault;
  };
  return {
    info: parser.info,
    read: (piece: string) => wait((done) => parser.write(piece, done)),
    end: () => wait((done) => parser.end(done)),
  };
}

async function readBeginning(text: AsyncGenerator<string>): Promise<string> {
  let beginning = "";
  while (beginning.length < mostCharacters && !/[^\r\n][\r\n]/.test(beginning)) {
    const { done, value } = await text.next();
    if (done === true) break;
    beginning += value;
  }
  return beginning;
}

const separators = [",", ";", "\t"] as const;

/** Finds the separator in the header line. Some spreadsheets use semicolons or tabs. */
function findSeparator(text: string): string {
  const [, line = ""] = /^[\r\n]*([^\r\n]*)/.exec(text) ?? [];
  const bare = line.replaceAll(/"[^"]*"/g, "");
  const counts = separators.map((letter) => bare.split(letter).length);
  return separators[counts.indexOf(Math.max(...counts))] ?? ",";
}

async function* cutText(beginning: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield* cut(beginning);
  for await (const text of rest) yield* cut(text);
}

function* cut(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    const end = at + pieceCharacters;
    // Do not cut between the two halves of a surrogate pair.
    const isInside = /[\ud800-\udbff]/.test(text.charAt(end - 1));
    yield text.slice(at, isInside ? end + 1 : end);
    at = isInside ? end + 1 : end;
  }
}

const notUtf8 = "From here on, the text is not UTF-8; save the file as UTF-8 and try again";

/** Detects UTF-16 by its byte order mark. Some spreadsheets write it. */
export function findEncoding([first, second]: Uint8Array): "utf-8" | "utf-16le" | "utf-16be" {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}

/** Yields decoded text. Stops at invalid bytes, and yields U+FFFD in their place. */
async function* readText(source: TextSource, noteCut: () => void): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined;
  for await (const chunk of typeof source === "string" ? [source] : source) {
    if (typeof chunk === "string") {
      yield chunk;
      continue;
    }
    decoder ??= new TextDecoder(findEncoding(chunk), { fatal: true });
    const text = decode(decoder, chunk);
    if (text === undefined) noteCut();
    yield text ?? `${new TextDecoder(decoder.encoding).decode(chunk).split("\ufffd")[0]}\ufffd`;
    if (text === undefined) return;
  }
  if (decoder === undefined || decode(decoder) !== undefined) return;
  noteCut();
  yield "\ufffd";
}

/**
 * Decodes a chunk or, without one, the bytes that remain. Returns undefined if they are invalid.
 */
function decode(decoder: TextDecoder, chunk?: Uint8Array): string | undefined {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch {
    return undefined;
  }
}

export function writeRecord(cells: readonly string[]): string {
  return `${cells.map(writeCell).join(",")}\r\n`;
}

function writeCell(cell: string): string {
  return /[",;\t\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/**
 * A spreadsheet would run some cells as formulas. Such a cell is written with an apostrophe in
 * front, and the apostrophe is removed when the cell is read. If a formula already has apostrophes
 * in front, one more is added, so that all text is read back unchanged.
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
