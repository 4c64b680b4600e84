import type { PlanOperation, PlanProblem } from "../../state/plans.ts";
import { quote } from "../../text/show-hidden.ts";
import {
  readCells,
  readHeader,
  readOnly,
  type Column,
  type GivenRow,
  type Header,
} from "../files/columns.ts";
import { openCsv, type CsvFault, type CsvRecord } from "../files/csv.ts";
import {
  convertLink,
  detectFormat,
  readForeignCells,
  readForeignObject,
} from "../files/foreign/detect.ts";
import type { Format } from "../files/foreign/format.ts";
import type { TextSource } from "../files/read-text.ts";
import { checkRow, createSeenRows, type CheckedRow, type Seen } from "./check-rows.ts";
import { createNotes, type Findings, type Notes } from "./reading-notes.ts";
import { readObject } from "./row-object.ts";

/** From what somebody brought to checked rows: one way in for every source. */

export type RowSource = { readonly csv: TextSource } | { readonly rows: unknown };

export type RowReading = {
  /**
   * Each row as it is read, with its own problems; read once. A source that is lost half way
   * throws, a faulty text never does. Texts are cut out of the source's chunks: whoever keeps a
   * row in memory keeps its chunk.
   */
  readonly rows: AsyncIterable<CheckedRow>;
  /** What was found so far; everything, once `rows` has run out. */
  readonly listFindings: () => Findings;
};

export function readRows(source: RowSource, operation: PlanOperation): RowReading {
  const unit = "csv" in source ? "line" : "row";
  const notes = createNotes();
  const reading: Reading = { operation, seen: createSeenRows(unit), notes };
  const rows = "csv" in source ? readTable(source.csv, reading) : readList(source.rows, reading);
  return { rows: noteEach(rows, notes), listFindings: notes.list };
}

type Reading = { readonly operation: PlanOperation; readonly seen: Seen; readonly notes: Notes };

async function* noteEach(
  rows: AsyncIterable<CheckedRow> | Iterable<CheckedRow>,
  notes: Notes,
): AsyncGenerator<CheckedRow> {
  for await (const row of rows) {
    notes.add(row.problems);
    yield row;
  }
}

async function* readTable(source: TextSource, reading: Reading): AsyncGenerator<CheckedRow> {
  const { operation, seen, notes } = reading;
  const table = await openCsv(source);
  if ("fault" in table) {
    notes.add([explainFault(table)]);
    return;
  }
  const { columns, records } = table;
  const format = detectFormat(columns.cells);
  if (isRefused(format, reading)) {
    await records.return(undefined);
    return;
  }
  if (format === undefined && !readHeader(columns.cells).isHeader) {
    notes.add([{ row: columns.line, message: explainHeader(source) }]);
    await records.return(undefined);
    return;
  }
  const readRow = format ? readForeign(format, columns.cells, notes) : readOwn(columns, reading);
  let isEmpty = true;
  for await (const item of records) {
    isEmpty = false;
    if ("fault" in item) yield refuseLine(item);
    else yield checkRow(operation, item.line, readRow(item.cells), seen);
  }
  if (isEmpty) notes.add([{ message: noRow }]);
}

/** Whoever gives a text may have taken it for the place of a file. */
function explainHeader(source: TextSource): string {
  const hint = typeof source === "string" ? "; csv is the text itself, not the path of a file" : "";
  return `The first line must be a header of field names, such as path,name,url${hint}`;
}

const noRow = "There is no row in it";

type ReadRow = (cells: readonly string[]) => GivenRow;

function readForeign(format: Format, names: readonly string[], { unmapped }: Notes): ReadRow {
  return (cells) => convertLink(format, readForeignCells(names, cells), unmapped);
}

function readOwn({ line, cells: names }: CsvRecord, { operation, notes }: Reading): ReadRow {
  const header = readHeader(names);
  const { columns, problems } = operation === "delete" ? dropFields(header) : header;
  notes.add(problems.map((problem) => ({ row: line, ...problem })));
  const isDeletion = operation === "delete";
  const isNamed = isDeletion || columns.some((column) => column?.role === "id");
  const left = readOnly.map((name) => ({ name, index: isNamed ? -1 : names.indexOf(name) }));
  return (cells) => {
    for (const { name, index } of left) noteLeft(notes, name, cells[index]);
    return readCells(columns, cells);
  };
}

/** What nobody can write is told of, unless an id beside it says that it comes from an export. */
function noteLeft({ unmapped }: Notes, field: string, value: unknown): void {
  const text = typeof value === "string" ? value.trim() : JSON.stringify(value ?? "");
  if (text === "" || text === '""') return;
  const { count, example } = unmapped.get(field) ?? {
    count: 0,
    example: quote(text, 60).slice(1, -1),
  };
  unmapped.set(field, { field, count: count + 1, example });
}

type Columns = Pick<Header, "columns" | "problems">;

/** Columns that a deletion has no use for are refused once, and not in every row. */
function dropFields({ columns, problems }: Columns): Columns {
  const extra = columns.flatMap((column) => (column && isExtra(column) ? [column.name] : []));
  if (extra.length === 0) return { columns, problems };
  const names = extra.join(", ");
  const message = `A list to delete has the column id or path and no field; take away ${names}`;
  return {
    columns: columns.map((column) => (isExtra(column) ? undefined : column)),
    problems: [...problems, { field: extra[0] ?? "", message }],
  };
}

function isExtra(column: Column | undefined): boolean {
  return column?.role === "field" && column.place[0] !== "path";
}

/** What another service exports says what links are to be, not which are to go. */
function isRefused(format: Format | undefined, { operation, notes }: Reading): boolean {
  if (format === undefined) return false;
  notes.recognize(format);
  if (operation !== "delete") return false;
  const message = `This comes from ${format.title}; a list to delete has the column id or path`;
  notes.add([{ message }]);
  return true;
}

function explainFault({ line, fault }: CsvFault): PlanProblem {
  return { row: line, message: fault };
}

function refuseLine(fault: CsvFault): CheckedRow {
  return { row: fault.line, fields: {}, values: {}, problems: [explainFault(fault)] };
}

/** A list is of one kind, so its first members tell of which. */
const mostLookedAt = 20;

function* readList(given: unknown, reading: Reading): Generator<CheckedRow> {
  const { operation, seen, notes } = reading;
  const items = listItems(given);
  if (items === undefined || items.length === 0) {
    const message = items === undefined ? "Rows must be a list of objects" : noRow;
    notes.add([{ message }]);
    return;
  }
  const format = items
    .slice(0, mostLookedAt)
    .map((item) => (isObject(item) ? detectFormat(listNames(item)) : undefined))
    .find((found) => found !== undefined);
  if (isRefused(format, reading)) return;
  for (const [index, item] of items.entries()) {
    const given =
      format !== undefined && isObject(item)
        ? convertLink(format, readForeignObject(item), notes.unmapped)
        : readOwnObject(item, reading);
    yield checkRow(operation, index + 1, given, seen);
  }
}

function readOwnObject(item: unknown, { operation, notes }: Reading): GivenRow {
  const given = readObject(item);
  if (operation === "delete" || given.id !== undefined || !isObject(item)) return given;
  const members = new Map<string, unknown>(Object.entries(item));
  for (const name of readOnly) noteLeft(notes, name, members.get(name));
  return given;
}

function listNames(item: object): readonly string[] {
  return readForeignObject(item).map(({ name }) => name);
}

function isObject(item: unknown): item is object {
  return typeof item === "object" && item !== null;
}

/** The rows of a JSON file: the list itself, or the one list of objects inside an answer. */
function listItems(given: unknown): readonly unknown[] | undefined {
  if (Array.isArray(given)) return given;
  if (typeof given !== "object" || given === null) return undefined;
  // `links` is what we, Bitly and Short.io call it, whatever else is beside it.
  if ("links" in given && Array.isArray(given.links)) return given.links;
  const lists = Object.values(given).filter(isListOfObjects);
  return lists.length === 1 ? lists[0] : undefined;
}

function isListOfObjects(value: unknown): value is readonly object[] {
  const isList = Array.isArray(value) && value.length > 0;
  return isList && value.every((item) => typeof item === "object" && item !== null);
}
