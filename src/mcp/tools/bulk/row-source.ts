import { CsvFault, readCsv } from "../../../bulk/files/csv.ts";
import { refuseArguments } from "../../results/tool-failure.ts";

/** Rows that an assistant gives: they are held whole, so there is a limit to them. */

type Given = { readonly rows?: readonly object[]; readonly csv?: string };

const mostRows = 10_000;
const mostBytes = 4_000_000;

export async function readSource(tool: string, { rows = [], csv }: Given) {
  if (csv === undefined) {
    if (rows.length > mostRows || isLargerList(rows)) throw refuseLarge(tool, "rows");
    return { rows };
  }
  if (Buffer.byteLength(csv) > mostBytes || (await hasMoreRecords(csv))) {
    throw refuseLarge(tool, "csv");
  }
  return { csv };
}

/** One that is no CSV from some line on is told so by the plan. */
async function hasMoreRecords(csv: string): Promise<boolean> {
  let left = mostRows + 1;
  try {
    for await (const _ of readCsv(csv)) if ((left -= 1) < 0) return true;
  } catch (error) {
    if (!(error instanceof CsvFault)) throw error;
  }
  return false;
}

function isLargerList(rows: readonly object[]): boolean {
  let bytes = 0;
  // One after the other: the text of all of them together would be held beside them.
  return rows.some((row) => (bytes += Buffer.byteLength(JSON.stringify(row))) > mostBytes);
}

function refuseLarge(tool: string, field: string) {
  const rows = mostRows.toLocaleString("en");
  const message = `${field} has more than ${rows} rows or ${mostBytes / 1_000_000} MB`;
  const fix =
    "Split it into several plans, select the links with filters, or ask the user to run " +
    "`waypost import` in a terminal, which takes larger files.";
  return refuseArguments(tool, [{ field, message, fix }]);
}
