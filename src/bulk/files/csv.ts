import { setImmediate } from "node:timers/promises";
import { readText, type TextSource } from "./read-text.ts";

/**
 * CSV as spreadsheets and people write it (RFC 4180, and what they make of it), read as a stream:
 * no more of it is held than the record at hand. A record is known by the line that it begins on;
 * a fault costs that line alone, so all faults of a file are found at once. Own work, because
 * `csv-parse` 7.0.3 counts a record's last line and loses the rest of the file behind a bad quote.
 */

export type CsvRecord = { readonly line: number; readonly cells: readonly string[] };
export type CsvFault = { readonly line: number; readonly fault: string };

/** The first record names the columns. Without one there is nothing to read. */
export type CsvTable = {
  readonly columns: CsvRecord;
  /** What follows, each record with as many cells as there are columns. */
  readonly records: AsyncGenerator<CsvRecord | CsvFault>;
};

/** No link is larger than a request; a longer record has lost its closing quote. */
const mostCharacters = 1024 * 1024;

/** Lines that are read before the event loop turns. */
const takenInTurn = 1000;

export async function openCsv(source: TextSource): Promise<CsvTable | CsvFault> {
  const items = readCsv(source);
  const first = await items.next();
  if (first.done === true) return { line: 1, fault: "It is empty" };
  if ("fault" in first.value) {
    await items.return(undefined);
    return first.value;
  }
  return { columns: first.value, records: readRest(items, first.value) };
}

/** Every record and every fault, in order; blank lines are left out. */
export async function* readCsv(source: TextSource): AsyncGenerator<CsvRecord | CsvFault> {
  const window: Window = { text: "", line: 1, separator: undefined, isSkipping: false };
  let left = 0;
  for await (const piece of readText(source)) {
    window.text += piece.text;
    // A record that was not whole is looked at again when there is twice as much of it.
    if (window.text.length >= 2 * left || piece.fault !== undefined) {
      yield* takeInTurns(window, false);
      left = window.text.length;
    }
    if (piece.fault === undefined) continue;
    yield {
      line: window.line + countBreaks(window.text, 0, window.text.length),
      fault: piece.fault,
    };
    return;
  }
  yield* takeInTurns(window, true);
}

/** Other requests are answered while a long file is read. */
async function* takeInTurns(window: Window, isEnd: boolean): AsyncGenerator<CsvRecord | CsvFault> {
  let taken = 0;
  for (const item of takeRecords(window, isEnd)) {
    taken += 1;
    if (taken % takenInTurn === 0) await setImmediate();
    if (item !== "blank") yield item;
  }
}

/** One record, as every reader of CSV takes it. */
export function writeRecord(cells: readonly string[]): string {
  return `${cells.map(writeCell).join(",")}\r\n`;
}

function writeCell(cell: string): string {
  return /[",;\t\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

async function* readRest(
  items: AsyncGenerator<CsvRecord | CsvFault>,
  columns: CsvRecord,
): AsyncGenerator<CsvRecord | CsvFault> {
  const wanted = columns.cells.length;
  for await (const item of items) {
    const count = "cells" in item ? item.cells.length : wanted;
    yield count === wanted ? item : { line: item.line, fault: explainCount(count, wanted) };
  }
}

function explainCount(count: number, wanted: number): string {
  const hint = count > wanted ? "; put a cell that contains a comma in quotes" : "";
  return `The line has ${count} cells instead of ${wanted}${hint}`;
}

/** What has come and is not read yet. */
type Window = {
  text: string;
  /** The line that the text begins on. */
  line: number;
  /** Undefined until the first line has come. */
  separator: string | undefined;
  /** Whether the text begins inside a line that was given up. */
  isSkipping: boolean;
};

/** Takes the records that are wholly there out of the window. */
function* takeRecords(window: Window, isEnd: boolean): Generator<CsvRecord | CsvFault | "blank"> {
  const { text } = window;
  let at = 0;
  const moveTo = (end: number) => {
    window.line += countBreaks(text, at, end);
    at = end;
  };
  window.separator ??= findSeparator(text, isEnd);
  while (window.separator !== undefined && at < text.length) {
    if (window.isSkipping) {
      const next = findNextLine(text, at, isEnd);
      window.isSkipping = next === undefined;
      moveTo(next ?? text.length - (text.endsWith("\r") ? 1 : 0));
      if (next === undefined) break;
      continue;
    }
    const isOverlong = text.length - at > mostCharacters;
    const taken = takeRecord(text, at, window.separator, isEnd) ?? (isOverlong && overlong);
    if (taken === false) break;
    if (typeof taken !== "string") {
      const { line } = window;
      moveTo(taken.end);
      yield taken.cells.some((cell) => cell !== "") ? { line, cells: taken.cells } : "blank";
      continue;
    }
    yield { line: window.line, fault: taken };
    window.isSkipping = true;
  }
  window.text = text.slice(at);
}

const misplaced =
  "A cell contains a quote but does not start with one; " +
  'put the cell in quotes and double each quote in it ("")';
const trailing =
  'There is text after the closing quote of a cell; double each quote inside a cell ("")';
const unclosed = "A quoted cell has no closing quote";
const overlong = "The record is longer than 1 MiB; is a closing quote missing?";

type Taken = { readonly cells: readonly string[]; readonly end: number };

/** A record, its fault, or undefined where more text is needed to tell. */
function takeRecord(
  text: string,
  start: number,
  separator: string,
  isEnd: boolean,
): Taken | string | undefined {
  const cells: string[] = [];
  let at = start;
  for (;;) {
    const isQuoted = text[at] === '"';
    const cell = isQuoted ? takeQuoted(text, at, isEnd) : takePlain(text, at, separator);
    if (typeof cell !== "object") return cell;
    cells.push(cell.value);
    at = cell.end;
    const next = text[at];
    if (next === undefined) return isEnd ? { cells, end: at } : undefined;
    if (next !== separator && next !== "\n" && next !== "\r") {
      return isQuoted ? trailing : misplaced;
    }
    if (next !== separator) {
      const end = findNextLine(text, at, isEnd);
      return end === undefined ? undefined : { cells, end };
    }
    at += 1;
  }
}

type Cell = { readonly value: string; readonly end: number };

function takePlain(text: string, start: number, separator: string): Cell {
  let end = start;
  for (; end < text.length; end += 1) {
    const letter = text[end];
    if (letter === separator || letter === "\n" || letter === "\r" || letter === '"') break;
  }
  return { value: text.slice(start, end), end };
}

function takeQuoted(text: string, start: number, isEnd: boolean): Cell | string | undefined {
  let from = start + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote < 0) return isEnd ? unclosed : undefined;
    // At the very end it may be the first of two; then more text is asked for behind the cell.
    if (text[quote + 1] !== '"') {
      const value = text.slice(start + 1, quote).replaceAll('""', '"');
      return { value, end: quote + 1 };
    }
    from = quote + 2;
  }
}

const separators = [",", ";", "\t"];

/** Some spreadsheets write semicolons or tabs; the line that names the columns tells which. */
function findSeparator(text: string, isEnd: boolean): string | undefined {
  const [, line = "", lineBreak = ""] = /^[\r\n]*([^\r\n]*)([\r\n]?)/.exec(text) ?? [];
  if (lineBreak === "" && !isEnd && text.length < mostCharacters) return undefined;
  const bare = line.replaceAll(/"[^"]*"/g, "");
  const counts = separators.map((letter) => bare.split(letter).length);
  return separators[counts.indexOf(Math.max(...counts))];
}

/** Where the next line begins; undefined where the line's end has not come yet. */
function findNextLine(text: string, from: number, isEnd: boolean): number | undefined {
  const lineBreak = /\r\n?|\n/g;
  lineBreak.lastIndex = from;
  const found = lineBreak.exec(text);
  if (found === null) return isEnd ? text.length : undefined;
  const next = lineBreak.lastIndex;
  // A CR at the very end may be the first half of a CRLF.
  return found[0] === "\r" && next === text.length && !isEnd ? undefined : next;
}

function countBreaks(text: string, start: number, end: number): number {
  let count = 0;
  const lineBreak = /\r\n?|\n/g;
  lineBreak.lastIndex = start;
  while (lineBreak.exec(text) !== null && lineBreak.lastIndex <= end) count += 1;
  return count;
}
