import { Console } from "node:console";
import type { Writable } from "node:stream";

/**
 * The one place that writes for people. stdout carries what a command was asked for, and nothing
 * else ever does; everything that is said by the way goes to stderr.
 */

export function print(text: string): void {
  if (process.stdout.listenerCount("error") === 0) process.stdout.on("error", passOverEnd);
  process.stdout.write(`${text}\n`);
}

/** Who read it has gone and wants no more (`waypost doctor | head`); the work goes on. */
function passOverEnd(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
}

/** Whether what is printed is read where it is typed, and goes into no file. */
export function isReadByPerson(): boolean {
  return process.stdout.isTTY;
}

export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/**
 * One JSON document on stdout. What a terminal would obey, or show in another order than it
 * stands in, is written by its number, which is the same text to every reader of JSON.
 */
export function printJson(value: unknown): void {
  print(JSON.stringify(value).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, writeNumber));
}

function writeNumber(character: string): string {
  const units = character.split("").map((unit) => unit.charCodeAt(0).toString(16));
  return units.map((digits) => `\\u${digits.padStart(4, "0")}`).join("");
}

/** Where people read what is said by the way; a terminal may be drawn upon. */
export function openScreen(): NodeJS.WriteStream {
  return process.stderr;
}

/**
 * Hands stdout to the protocol. Whatever a package may say on the console from now on goes to
 * stderr, for one stray line there would end the conversation.
 */
export function claimStdout(): Writable {
  let diverted: Console | undefined;
  // Most sessions say nothing there, and to open it takes a while.
  const get = () => (diverted ??= new Console(process.stderr, process.stderr));
  Object.defineProperty(globalThis, "console", { configurable: true, get });
  return process.stdout;
}

/** Rows as aligned columns, the first row being the heads. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  "))
    .map((line) => line.trimEnd())
    .join("\n");
}
