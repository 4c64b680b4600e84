import { createHash } from "node:crypto";
import type { TableSum } from "./copied-database.ts";

/** A row as it is copied: its columns in the order of the table's head. */
export type Cell = string | number | null;
export type Row = readonly Cell[];

const digestBits = 256n;

/**
 * Adds up the digests of rows, for engines differ in what order they put texts in, and to sort a
 * large table by hand would take long.
 */
export function createTableSum() {
  let rows = 0;
  let sum = 0n;
  return {
    add: (line: string) => {
      rows += 1;
      const digest = createHash("sha256").update(line).digest("hex");
      sum = BigInt.asUintN(Number(digestBits), sum + BigInt(`0x${digest}`));
    },
    read: (): TableSum => ({ rows, digest: sum.toString(16).padStart(64, "0") }),
  };
}

/** The same text for the same row, whichever engine it was read from. */
export function writeRow(row: Row): string {
  return JSON.stringify(row);
}
