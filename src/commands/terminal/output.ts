import { Console } from "node:console";
import type { Writable } from "node:stream";
import { writeLocalTime, type TimeZone } from "../../contract/local-time.ts";
import { escapeHiddenInJson } from "../../text/escape.ts";
import { showHidden } from "../../text/show-hidden.ts";

/** Prints the output of commands: results to stdout, notes and questions to stderr. */

export function print(text: string): void {
  if (process.stdout.listenerCount("error") === 0) process.stdout.on("error", passOverEnd);
  process.stdout.write(`${text}\n`);
}

/** A reader such as `head` may close the pipe early. The command still finishes its work. */
function passOverEnd(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
}

/** Whether stdout is a terminal, not a file or a pipe. */
export function isReadByPerson(): boolean {
  return process.stdout.isTTY;
}

export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Prints one JSON document. Hidden characters are escaped, and parsers restore them. */
export function printJson(value: unknown): void {
  print(escapeHiddenInJson(JSON.stringify(value)));
}

/** Prints a result as a sentence. With --json, stdout gets the JSON, and stderr the sentence. */
export function conclude(isJson: boolean, document: unknown, sentence: string): void {
  if (isJson) printJson(document);
  (isJson ? say : print)(sentence);
}

export function openScreen(): NodeJS.WriteStream {
  return process.stderr;
}

/** Reserves stdout for the protocol. What packages log to the console goes to stderr. */
export function claimStdout(): Writable {
  let diverted: Console | undefined;
  // Created lazily, because creating a console is slow and most sessions never use it.
  const get = () => (diverted ??= new Console(process.stderr, process.stderr));
  Object.defineProperty(globalThis, "console", { configurable: true, get });
  return process.stdout;
}

export function printTable(heads: readonly string[], rows: readonly (readonly string[])[]): void {
  const all = [heads, ...rows];
  const widths = heads.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const lines = all.map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  "));
  print(lines.map((line) => line.trimEnd()).join("\n"));
}

/** Makes untrusted text safe to print on one line. */
export function showLine(text: string): string {
  return showHidden(text).replace(/\s+/g, " ");
}

export function createWriteTime(zone: TimeZone): (time: number | null) => string {
  return (time) => (time === null ? "(never)" : writeLocalTime(time, zone));
}

/** Converts a record for JSON output, with times in ISO 8601. */
export function presentRecord(record: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => {
      const isTime = typeof value === "number" && /(?:_at|_since|^until)$/.test(name);
      return [name, isTime ? new Date(value).toISOString() : value];
    }),
  );
}

type PageMeta = { readonly page: number; readonly last: number; readonly count: number };

export function sayPage({ page, count, last }: PageMeta, things: string): void {
  if (last <= 1) return;
  say(`Page ${page} of ${last}, ${count} ${things} in total. Use --page N to see another page.`);
}
