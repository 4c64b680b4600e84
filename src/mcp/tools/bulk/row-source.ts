import { refuseArguments } from "../../results/tool-failure.ts";

/** Rows that an assistant gives: they are held whole, so there is a limit to them. */

type Given = { readonly rows?: readonly object[]; readonly csv?: string };

const mostRows = 10_000;
const mostBytes = 4_000_000;

export function readSource(tool: string, { rows = [], csv }: Given) {
  if (csv === undefined) {
    if (rows.length > mostRows || isLargerList(rows)) throw refuseLarge(tool, "rows");
    return { rows };
  }
  // The first line names the columns, and the last one may have an end.
  const lines = csv.split(/[\r\n]+/, mostRows + 3).filter((line) => line !== "");
  if (Buffer.byteLength(csv) > mostBytes || lines.length > mostRows + 1) {
    throw refuseLarge(tool, "csv");
  }
  return { csv };
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
