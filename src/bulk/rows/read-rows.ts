import type { PlanOperation, PlanProblem } from "../../state/plans.ts";
import { readCells, readHeader, readOnly, type Column, type GivenRow } from "../files/columns.ts";
import { openCsv, type CsvFault, type CsvRecord } from "../files/csv.ts";
import * as foreign from "../files/foreign/detect.ts";
import type { Format } from "../files/foreign/format.ts";
import { describeWarnings, type CountedWarnings } from "../files/foreign/warnings.ts";
import type { TextSource } from "../files/read-text.ts";
import { checkRow, createSeenRows, type CheckedRow, type Seen } from "./check-rows.ts";
import { readObject } from "./row-object.ts";

/** Checked rows from CSV or JSON, ours or another service's, and what was found out on the way. */

export type RowSource = { readonly csv: TextSource } | { readonly rows: unknown };

export type Findings = {
  /** Whose export it is; undefined for columns and members of ours. */
  readonly format: string | undefined;
  /** The first problems, of the source and of its rows, as they were met. */
  readonly problems: readonly PlanProblem[];
  readonly unmapped: readonly foreign.Unmapped[];
  /** What another service's rows become that may not be expected, as sentences. */
  readonly warnings: readonly string[];
};

export type RowReading = {
  /**
   * Each row as it is read, with its own problems; read once. A source that is lost half way
   * throws, a faulty text never does. Texts are cut out of the source's chunks: a row that is kept
   * in memory keeps its chunk there.
   */
  readonly rows: AsyncIterable<CheckedRow>;
  /** What was found so far; everything, once `rows` has run out. */
  readonly listFindings: () => Findings;
};

/** The row with what a person calls its apps as the API takes it. */
export type SettleRow = (given: GivenRow) => Promise<GivenRow>;

type RowOptions = {
  /** Whether ids may be others than UUIDs. */
  readonly takesAnyId?: boolean;
  readonly settle?: SettleRow | undefined;
  readonly linkHosts?: readonly string[] | undefined;
};

type Reading = {
  readonly operation: PlanOperation;
  readonly settle: SettleRow;
  readonly seen: Seen;
  readonly problems: PlanProblem[];
  readonly unmapped: Map<string, foreign.Unmapped>;
  readonly warnings: CountedWarnings;
  format: Format | undefined;
};

/** A file with nothing right in it must not fill the memory with what is wrong. */
const mostProblems = 1000;

export function readRows(
  source: RowSource,
  operation: PlanOperation,
  { takesAnyId = false, linkHosts, settle = (given) => Promise.resolve(given) }: RowOptions = {},
): RowReading {
  const seen = createSeenRows("csv" in source ? "line" : "row", takesAnyId, linkHosts);
  const found = { problems: [], unmapped: new Map(), warnings: new Map(), format: undefined };
  const reading: Reading = { operation, settle, seen, ...found };
  const rows = "csv" in source ? readTable(source.csv, reading) : readList(source.rows, reading);
  return {
    rows: noteEach(rows, reading),
    listFindings: () => ({
      format: reading.format?.title,
      problems: [...reading.problems],
      unmapped: [...reading.unmapped.values()],
      warnings: describeWarnings(reading.warnings, seen.unit),
    }),
  };
}

function note({ problems }: Reading, found: readonly PlanProblem[]): void {
  problems.push(...found.slice(0, mostProblems - problems.length));
}

async function* noteEach(
  rows: AsyncIterable<CheckedRow>,
  reading: Reading,
): AsyncGenerator<CheckedRow> {
  for await (const row of rows) {
    note(reading, row.problems);
    yield row;
  }
}

async function* readTable(source: TextSource, reading: Reading): AsyncGenerator<CheckedRow> {
  const { operation, seen, settle } = reading;
  const table = await openCsv(source);
  if ("fault" in table) return note(reading, [explainFault(table)]);
  const { columns, records } = table;
  const format = foreign.detectFormat(columns.cells);
  const refusal = noteFormat(format, reading) ?? explainHeader(columns, format, source);
  if (refusal !== undefined) {
    note(reading, [refusal]);
    await records.return(undefined);
    return;
  }
  const readRow = format ? readForeign(format, columns.cells, reading) : readOwn(columns, reading);
  let isEmpty = true;
  for await (const item of records) {
    isEmpty = false;
    if ("fault" in item) yield refuseLine(item);
    else yield checkRow(operation, item.line, await settle(readRow(item)), seen);
  }
  if (isEmpty) note(reading, [{ message: noRow }]);
}

/** What is wrong with a first line that names no column. */
function explainHeader(
  { line, cells }: CsvRecord,
  format: Format | undefined,
  source: TextSource,
): PlanProblem | undefined {
  if (format !== undefined || readHeader(cells).isHeader) return undefined;
  // An argument that is a text may have been meant as the place of a file.
  const hint =
    typeof source === "string" ? "; pass the CSV text itself, not the path of a file" : "";
  const message = "The first line must be a header of field names, such as path,name,url";
  return { row: line, message: message + hint };
}

const noRow = "It has no rows";

type ReadRow = (record: CsvRecord) => GivenRow;

function readForeign(format: Format, names: readonly string[], reading: Reading): ReadRow {
  return ({ line, cells }) =>
    foreign.convertLink(format, foreign.readCells(names, cells), line, reading);
}

function readOwn({ line, cells: names }: CsvRecord, reading: Reading): ReadRow {
  const { columns, problems } = readHeader(names);
  const isDeletion = reading.operation === "delete";
  const extra = isDeletion ? columns.flatMap((column) => findExtra(column) ?? []) : [];
  note(
    reading,
    [...problems, ...refuseExtra(extra)].map((problem) => ({ row: line, ...problem })),
  );
  const isNamed = isDeletion || columns.some((column) => column?.role === "id");
  const left = readOnly.map((name) => ({ name, index: isNamed ? -1 : names.indexOf(name) }));
  const read = columns.map((column) => (extra.includes(column?.name ?? "") ? undefined : column));
  return ({ cells }) => {
    for (const { name, index } of left) noteLeft(reading, name, cells[index]);
    return readCells(read, cells);
  };
}

/** What cannot be written is told of, unless an id beside it says that it comes from an export. */
function noteLeft({ unmapped }: Reading, field: string, value: unknown): void {
  const text = typeof value === "string" ? value.trim() : JSON.stringify(value ?? "");
  if (text !== "" && text !== '""') foreign.countUnmapped(unmapped, field, text);
}

/** The name of a column that a deletion has no use for. */
function findExtra(column: Column | undefined): string | undefined {
  return column?.role === "field" && column.place[0] !== "path" ? column.name : undefined;
}

/** Columns that a deletion cannot use are refused once, and not again in every row. */
function refuseExtra(names: readonly string[]) {
  const [field = ""] = names;
  const message = "A deletion list can have only the column id or path; remove";
  return names.length === 0 ? [] : [{ field, message: `${message} ${names.join(", ")}` }];
}

/** What another service exports says what links are to be, not which are to go. */
function noteFormat(format: Format | undefined, reading: Reading): PlanProblem | undefined {
  reading.format = format;
  if (format === undefined || reading.operation !== "delete") return undefined;
  return {
    message: `This is an export from ${format.title}; a deletion list needs the column id or path`,
  };
}

function explainFault({ line, fault }: CsvFault): PlanProblem {
  return { row: line, message: fault };
}

function refuseLine(fault: CsvFault): CheckedRow {
  return { row: fault.line, fields: {}, values: {}, problems: [explainFault(fault)] };
}

/** A list is of one kind, so its first members tell of which. */
const mostLookedAt = 20;

async function* readList(given: unknown, reading: Reading): AsyncGenerator<CheckedRow> {
  const items = listItems(given);
  if (items === undefined || items.length === 0) {
    const message = items === undefined ? "Rows must be a list of objects" : noRow;
    return note(reading, [{ message }]);
  }
  const format = items
    .slice(0, mostLookedAt)
    .map((item) => (isObject(item) ? foreign.detectFormat(listNames(item)) : undefined))
    .find((found) => found !== undefined);
  const refusal = noteFormat(format, reading);
  if (refusal !== undefined) return note(reading, [refusal]);
  for (const [index, item] of items.entries()) {
    const row =
      format !== undefined && isObject(item)
        ? foreign.convertLink(format, foreign.readObject(item), index + 1, reading)
        : readOwnObject(item, reading);
    yield checkRow(reading.operation, index + 1, await reading.settle(row), reading.seen);
  }
}

function readOwnObject(item: unknown, reading: Reading): GivenRow {
  const given = readObject(item);
  if (reading.operation === "delete" || given.id !== undefined || !isObject(item)) return given;
  const members = new Map<string, unknown>(Object.entries(item));
  for (const name of readOnly) noteLeft(reading, name, members.get(name));
  return given;
}

function listNames(item: object): readonly string[] {
  return foreign.readObject(item).map(({ name }) => name);
}

function isObject(item: unknown): item is object {
  return typeof item === "object" && item !== null;
}

/** The rows of a JSON file: the list itself, or the one list of objects inside an answer. */
export function listItems(given: unknown): readonly unknown[] | undefined {
  if (Array.isArray(given)) return given;
  if (!isObject(given)) return undefined;
  // `links` is what we, Bitly and Short.io call it, whatever else is beside it.
  if ("links" in given && Array.isArray(given.links)) return given.links;
  const lists = Object.values(given).filter(isListOfObjects);
  return lists.length === 1 ? lists[0] : undefined;
}

function isListOfObjects(value: unknown): value is readonly object[] {
  return Array.isArray(value) && value.length > 0 && value.every(isObject);
}
