import { clock } from "../../compose/embedded.ts";
import type { CopiedSum } from "../../copies/copied-database.ts";
import type { ReadSignal } from "../../sql/sql.ts";
import { formatTable, openScreen, print } from "../terminal/output.ts";
import { createProgress } from "../terminal/progress-bar.ts";

/** What `backup`, `restore` and `migrate` tell a person alike. */

/** A line that a terminal draws again; elsewhere nothing is said until the end. */
export function followRows(total: number): {
  readonly follow: (rows: number) => void;
  readonly end: () => void;
} {
  const screen = openScreen();
  if (!screen.isTTY) return { follow: () => {}, end: () => {} };
  const count = (rows: number) => ({ done: rows, rejected: 0, unknown: 0, left: total - rows });
  const bar = createProgress(screen, count(0), clock);
  return { follow: (rows) => bar.show(count(rows)), end: bar.end };
}

/** So much of a digest tells two tables apart for a person; --json has the whole of it. */
const shownDigits = 16;

export function printSums(sums: readonly CopiedSum[]): void {
  const rows = sums
    .filter(({ rows: count }) => count > 0)
    .map(({ database, table, rows: count, digest }) => {
      return [database, table, String(count), digest.slice(0, shownDigits)];
    });
  print(formatTable([["IN", "TABLE", "ROWS", "DIGEST"], ...rows]));
}

export function presentSums(sums: readonly CopiedSum[]) {
  return sums.map(({ database, table, rows, digest }) => ({ database, table, rows, digest }));
}

export function addRows(sums: readonly CopiedSum[]): number {
  return sums.reduce((sum, { rows }) => sum + rows, 0);
}

/** How much is in a backup. */
export function describeContents(sums: readonly CopiedSum[], files: readonly string[]): string {
  const also = files.length === 0 ? "" : ` and ${files.join(", ")}`;
  return `${addRows(sums)} rows${also}`;
}

/** Aborted when the person stops the command. */
export function listenForStop(stopped: Promise<void>): AbortSignal {
  const stop = new AbortController();
  void stopped.then(() => stop.abort());
  return stop.signal;
}

/** As the databases want to know it. */
export function toReadSignal(signal: AbortSignal): ReadSignal {
  return {
    hasLeft: () => signal.aborted,
    onAbort: (end) => signal.addEventListener("abort", end, { once: true }),
  };
}
