import type { PlanOperation, PlanProblem } from "../../state/plans.ts";
import {
  isObject,
  readCells,
  readHeader,
  readObject,
  readOnly,
  type GivenRow,
} from "../files/columns.ts";
import { CsvFault, readCsv, type CsvRecord, type TextSource } from "../files/csv.ts";
import {
  convertLink,
  countUnmapped,
  describeWarnings,
  detectFormat,
  readForeignCells,
  readForeignObject,
  type Format,
  type Leftover,
  type Unmapped,
} from "../files/foreign.ts";
import { createRowCheck, type Row, type RowRules } from "./check-rows.ts";

/** Reads rows from CSV or JSON, ours or another service's, and what is left over from them. */

export type RowSource = { readonly csv: TextSource } | { readonly rows: unknown };

export type Findings = {
  /** The service whose export it is; undefined for our own columns. */
  readonly format: string | undefined;
  /** What is wrong with the source; each row has its own problems. */
  readonly problems: readonly PlanProblem[];
  readonly unmapped: readonly Unmapped[];
  /** What another service's rows become that may not be expected, as sentences. */
  readonly warnings: readonly string[];
};

type FileReading = Leftover & {
  readonly operation: PlanOperation;
  readonly problems: PlanProblem[];
  format: Format | undefined;
};

/** A row as the source gives it. */
type SourceRow = GivenRow & { readonly row: number };

/**
 * `rows` are the rows as they are read, each with its own problems; they are read once. A source
 * that is lost half way throws, a faulty text never does. Texts are cut out of the source's chunks:
 * a row that is kept in memory keeps its chunk there. `listFindings` lists what was found so far,
 * and everything once `rows` has run out.
 */
export function readRows(
  source: RowSource,
  operation: PlanOperation,
  { takesAnyId, linkHosts }: Pick<RowRules, "takesAnyId" | "linkHosts"> = {},
) {
  const unit = "csv" in source ? "line" : "row";
  const check = createRowCheck({ operation, unit, takesAnyId, linkHosts });
  const found = { problems: [], unmapped: new Map(), warnings: new Map(), format: undefined };
  const reading: FileReading = { operation, ...found };
  const given = "csv" in source ? readTable(source.csv, reading) : readList(source.rows, reading);
  return {
    rows: checkEach(given, reading, check),
    listFindings: (): Findings => ({
      format: reading.format?.title,
      problems: [...reading.problems],
      unmapped: [...reading.unmapped.values()],
      warnings: describeWarnings(reading, unit),
    }),
  };
}

async function* checkEach(
  rows: AsyncIterable<SourceRow> | Iterable<SourceRow>,
  { problems }: FileReading,
  check: ReturnType<typeof createRowCheck>,
): AsyncGenerator<Row> {
  let isEmpty = true;
  try {
    for await (const { row, ...given } of rows) {
      isEmpty = false;
      yield check(row, given);
    }
  } catch (error) {
    if (!(error instanceof CsvFault)) throw error;
    problems.push({ row: error.line, message: error.message });
  }
  if (isEmpty && problems.length === 0) problems.push({ message: "It has no rows" });
}

async function* readTable(source: TextSource, reading: FileReading): AsyncGenerator<SourceRow> {
  let readRow: ((record: CsvRecord) => GivenRow) | undefined;
  let count = 0;
  for await (const record of readCsv(source)) {
    const { line: row, cells } = record;
    if (readRow !== undefined) {
      yield { row, ...(cells.length === count ? readRow(record) : refuseCount(cells, count)) };
      continue;
    }
    count = cells.length;
    const format = detectFormat(cells);
    const refusal = refuseFormat(format, reading) ?? refuseHeader(record, format, source);
    if (refusal !== undefined) return void reading.problems.push(refusal);
    readRow = format ? readForeign(format, cells, reading) : readOwn(record, reading);
  }
  if (readRow === undefined) reading.problems.push({ row: 1, message: "It is empty" });
}

/** What is wrong with a first line that names no column. */
function refuseHeader(
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

function refuseCount({ length }: readonly string[], wanted: number): GivenRow {
  const hint = length > wanted ? "; put a cell that contains a comma in quotes" : "";
  const message = `The line has ${length} cells instead of ${wanted}${hint}`;
  return { fields: {}, problems: [{ field: "", message }] };
}

type ReadRow = (record: CsvRecord) => GivenRow;

function readForeign(format: Format, names: readonly string[], reading: FileReading): ReadRow {
  return ({ line, cells }) => convertLink(format, readForeignCells(names, cells), line, reading);
}

function readOwn({ line, cells: names }: CsvRecord, reading: FileReading): ReadRow {
  const { columns, problems } = readHeader(names);
  const isDeletion = reading.operation === "delete";
  // Columns that a deletion cannot use are refused once, and not again in every row.
  const extra = columns.flatMap((column) =>
    isDeletion && column?.role === "field" && column.place[0] !== "path" ? [column.name] : [],
  );
  const message = `A deletion list can have only the column id or path; remove ${extra.join(", ")}`;
  const refused = extra.slice(0, 1).map((field) => ({ field, message }));
  for (const problem of [...problems, ...refused]) reading.problems.push({ row: line, ...problem });
  const isNamed = isDeletion || columns.some((column) => column?.role === "id");
  const left = isNamed ? [] : readOnly.map((name) => ({ name, index: names.indexOf(name) }));
  const read = columns.map((column) => (extra.includes(column?.name ?? "") ? undefined : column));
  return ({ cells }) => {
    for (const { name, index } of left) noteLeft(reading, name, cells[index]);
    return readCells(read, cells);
  };
}

/** Lists a value that cannot be written, unless the row has an id and so comes from an export. */
function noteLeft(reading: FileReading, field: string, value: unknown): void {
  const text = typeof value === "string" ? value.trim() : JSON.stringify(value ?? "");
  if (text !== "" && text !== '""') countUnmapped(reading, field, text);
}

/** What another service exports says what links are to be, not which are to go. */
function refuseFormat(format: Format | undefined, reading: FileReading): PlanProblem | undefined {
  reading.format = format;
  if (format === undefined || reading.operation !== "delete") return undefined;
  return {
    message: `This is an export from ${format.title}; a deletion list needs the column id or path`,
  };
}

/** All members of a list have one format, so only the first ones are examined. */
const mostLookedAt = 20;

function* readList(given: unknown, reading: FileReading): Generator<SourceRow> {
  const items = listItems(given);
  const message = "Rows must be a list of objects";
  if (items === undefined) return void reading.problems.push({ message });
  const formats = items.slice(0, mostLookedAt).map((item) => {
    return isObject(item)
      ? detectFormat(readForeignObject(item).map(({ name }) => name))
      : undefined;
  });
  const format = formats.find((found) => found !== undefined);
  const refusal = refuseFormat(format, reading);
  if (refusal !== undefined) return void reading.problems.push(refusal);
  for (const [index, item] of items.entries()) {
    const row = index + 1;
    const isForeign = format !== undefined && isObject(item);
    const read = isForeign
      ? convertLink(format, readForeignObject(item), row, reading)
      : readOwnObject(item, reading);
    yield { row, ...read };
  }
}

function readOwnObject(item: unknown, reading: FileReading): GivenRow {
  const given = readObject(item);
  if (reading.operation === "delete" || given.id !== undefined || !isObject(item)) return given;
  const members = new Map<string, unknown>(Object.entries(item));
  for (const name of readOnly) noteLeft(reading, name, members.get(name));
  return given;
}

/** The rows of a JSON file: the list itself, or the one list of objects inside an answer. */
export function listItems(given: unknown): readonly unknown[] | undefined {
  if (Array.isArray(given)) return given;
  if (!isObject(given)) return undefined;
  // We, Bitly and Short.io call it `links`.
  if ("links" in given && Array.isArray(given.links)) return given.links;
  const lists = Object.values(given).filter(isListOfObjects);
  return lists.length === 1 ? lists[0] : undefined;
}

function isListOfObjects(value: unknown): value is readonly object[] {
  return Array.isArray(value) && value.length > 0 && value.every(isObject);
}
