import type { Spent } from "./run-task.ts";
import type { Task } from "./task.ts";

/** Writes a table of the calls and bytes of every task. */

export type Done = { readonly task: Task; readonly spent: Spent };

const mostCharacters = 76;

export function writeTable(done: readonly Done[]): string {
  const rows = done.map(({ task, spent }) => [
    spent.calls,
    task.least,
    spent.written,
    spent.read,
    shorten(task.sentence),
  ]);
  const total = [0, 1, 2, 3].map((column) =>
    rows.reduce((sum, row) => sum + Number(row[column]), 0),
  );
  const head = [
    "CALLS",
    "LEAST",
    "WRITTEN",
    "READ",
    "SENTENCE (bytes written and read by the model)",
  ];
  const table = [head, ...rows, [...total, `${done.length} sentences`]];
  return table.map((row) => row.map(align).join("  ") + "\n").join("");
}

function align(cell: string | number, column: number): string {
  return column === 4 ? String(cell) : String(cell).padStart(7);
}

export function shorten(sentence: string): string {
  const line = sentence.replaceAll("\n", " ⏎ ");
  return line.length > mostCharacters ? `${line.slice(0, mostCharacters)}…` : line;
}
