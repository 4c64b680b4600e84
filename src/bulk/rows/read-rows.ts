import type { PlanOperation, PlanProblem, PlanSource } from "../../state/plans.ts";
import { isObject, readCells, readHeader, readObject, type InputRow } from "../files/columns.ts";
import { CsvFault, readCsv, type CsvRecord, type TextSource } from "../files/csv.ts";
import {
  convertLink,
  describeWarnings,
  detectFormat,
  readForeignCells,
  readForeignObject,
  type Format,
  type Leftover,
} from "../files/foreign.ts";
import { createRowCheck, type Row, type RowRules } from "./check-rows.ts";

/**
 * Reads rows from CSV or JSON, in the format of Waypost or of another service. Reports data that is
 * not used.
 */

export type RowSource = { readonly csv: TextSource } | { readonly rows: unknown };

/** Facts about a source, complete once all rows are read. `problems` concern the whole source. */
export type Findings = PlanSource & { readonly problems: readonly PlanProblem[] };

type FileReading = Leftover & {
  readonly operation: PlanOperation;
  readonly problems: PlanProblem[];
  format: Format | undefined;
};

type SourceRow = InputRow & { readonly row: number };

/**
 * Reads rows from a source. `rows` can be iterated only once. If the source is interrupted,
 * iteration throws. Invalid text is reported as a problem. Strings in a row may keep their whole
 * chunk of the file in memory.
 */
export function readRows(
  source: RowSource,
  operation: PlanOperation,
  rules: Pick<RowRules, "takesAnyId" | "linkHosts"> = {},
) {
  const unit = "csv" in source ? "line" : "row";
  const check = createRowCheck({ operation, unit, ...rules });
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

type ReadRow = (record: CsvRecord) => InputRow;

async function* readTable(source: TextSource, reading: FileReading): AsyncGenerator<SourceRow> {
  let readRow: ReadRow | undefined;
  let count = 0;
  for await (const record of readCsv(source)) {
    const { line: row, cells } = record;
    if (readRow !== undefined) {
      yield { row, ...(cells.length === count ? readRow(record) : refuseCount(cells, count)) };
      continue;
    }
    count = cells.length;
    const format = detectFormat(cells);
    reading.format = format;
    readRow =
      format === undefined
        ? readOwn(record, reading, source)
        : ({ line, cells: own }) =>
            convertLink(format, readForeignCells(cells, own), line, reading);
    if (readRow === undefined) return;
  }
}

/** Returns undefined if the first line is not a header. */
function readOwn(
  { line, cells: names }: CsvRecord,
  reading: FileReading,
  source: TextSource,
): ReadRow | undefined {
  const { columns, problems, isHeader } = readHeader(names);
  if (!isHeader) {
    // A string may be the path of a file, passed by mistake.
    const isText = typeof source === "string";
    const hint = isText ? "; pass the CSV text itself, not the path of a file" : "";
    const message = "The first line must be a header of field names, such as path,name,url";
    reading.problems.push({ row: line, message: message + hint });
    return undefined;
  }
  // Columns that a deletion cannot use are reported once, not for every row.
  const isExtra = (column: (typeof columns)[number]) =>
    reading.operation === "delete" && column?.role === "field" && column.place[0] !== "path";
  const [first, ...others] = columns.filter(isExtra).flatMap((column) => column?.name ?? []);
  if (first !== undefined) {
    const extra = [first, ...others].join(", ");
    const message = `A deletion list can have only the column id or path; remove ${extra}`;
    problems.push({ field: first, message });
  }
  for (const problem of problems) reading.problems.push({ row: line, ...problem });
  const read = columns.map((column) => (isExtra(column) ? undefined : column));
  return ({ cells }) => readCells(read, cells);
}

function refuseCount({ length }: readonly string[], wanted: number): InputRow {
  const hint = length > wanted ? "; put a cell that contains a comma in quotes" : "";
  const message = `The line has ${length} cells instead of ${wanted}${hint}`;
  return { fields: {}, problems: [{ field: "", message }] };
}

/** How many items to check to find a list's format. All items have the same format. */
const mostLookedAt = 20;

function* readList(given: unknown, reading: FileReading): Generator<SourceRow> {
  const items = listItems(given);
  const message = "Rows must be a list of objects";
  if (items === undefined) return void reading.problems.push({ message });
  const names = items.slice(0, mostLookedAt).map((item) => {
    return isObject(item) ? readForeignObject(item).map(({ name }) => name) : [];
  });
  const format = names.map(detectFormat).find((found) => found !== undefined);
  reading.format = format;
  for (const [index, item] of items.entries()) {
    const row = index + 1;
    const isForeign = format !== undefined && isObject(item);
    const read = isForeign
      ? convertLink(format, readForeignObject(item), row, reading)
      : readObject(item);
    yield { row, ...read };
  }
}

/** Returns the top-level array, or the only array of objects in a top-level object. */
export function listItems(given: unknown): readonly unknown[] | undefined {
  if (Array.isArray(given)) return given;
  if (!isObject(given)) return undefined;
  // Waypost, Bitly and Short.io use the name `links` for the array.
  if ("links" in given && Array.isArray(given.links)) return given.links;
  const lists = Object.values(given).filter(isListOfObjects);
  return lists.length === 1 ? lists[0] : undefined;
}

function isListOfObjects(value: unknown): value is readonly object[] {
  return Array.isArray(value) && value.length > 0 && value.every(isObject);
}
