import {
  databaseNames,
  type DatabaseName,
  type TablePlace,
  type TableSum,
} from "./copied-database.ts";

/**
 * What the lines of a backup hold. Each is one JSON text: first the head, then the small files,
 * then each table with its rows and their sum, and the end, by which a file that was cut off is
 * known.
 */

/** Counts up when a reader of today could not read a new file. */
export const backupFormat = 2;

export type Head = {
  readonly waypost_backup: number;
  /** Of the Waypost that wrote it. */
  readonly version: string;
  readonly made_at: string;
  /** The migrations of each: its tables must be those that the reader has. */
  readonly databases: Readonly<Partial<Record<DatabaseName, readonly string[]>>>;
};

/** A small file of the data folder. */
export type FileLine = { readonly file: string; readonly text: string };

/** The digest is of every line before. */
export type End = { readonly end: { readonly rows: number; readonly sha256: string } };

/** No line is longer: a file that is not ours could have one without an end. */
export const mostLineBytes = 64 * 1024 * 1024;

/** Undefined where it is no line of this kind. */
export function readHead(value: unknown): Head | undefined {
  if (!isObject(value) || !isNumber(value["waypost_backup"])) return undefined;
  const { waypost_backup, version, made_at, databases } = value;
  if (typeof version !== "string" || typeof made_at !== "string") return undefined;
  // What else the head of another format has is not for this version to read.
  if (waypost_backup !== backupFormat) return { waypost_backup, version, made_at, databases: {} };
  if (!isObject(databases)) return undefined;
  const names: Partial<Record<DatabaseName, readonly string[]>> = {};
  for (const [name, migrations] of Object.entries(databases)) {
    if (!isDatabaseName(name) || !isTexts(migrations)) return undefined;
    names[name] = migrations;
  }
  return { waypost_backup, version, made_at, databases: names };
}

export function readFileLine(value: unknown): FileLine | undefined {
  if (!isObject(value)) return undefined;
  const { file, text } = value;
  return typeof file === "string" && typeof text === "string" ? { file, text } : undefined;
}

export function readTableHead(value: unknown): TablePlace | undefined {
  if (!isObject(value)) return undefined;
  const { database, table, columns } = value;
  const isHead = isDatabaseName(database) && typeof table === "string" && isTexts(columns);
  return isHead ? { database, table, columns } : undefined;
}

export function readTableSum(value: unknown): TableSum | undefined {
  if (!isObject(value)) return undefined;
  const { rows, digest } = value;
  return isNumber(rows) && typeof digest === "string" ? { rows, digest } : undefined;
}

export function readEnd(value: unknown): End | undefined {
  if (!isObject(value) || !isObject(value["end"])) return undefined;
  const { rows, sha256 } = value["end"];
  return isNumber(rows) && typeof sha256 === "string" ? { end: { rows, sha256 } } : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((text) => typeof text === "string");
}

function isDatabaseName(value: unknown): value is DatabaseName {
  return databaseNames.some((name) => name === value);
}
