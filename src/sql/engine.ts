import { createRequire } from "node:module";

/**
 * Loads SQLite and runs statements. If Node's built-in SQLite is too old to be safe, loads
 * `@photostructure/sqlite` instead. It has the same API, and the build copies it to `dist`.
 */

type SqlValue = null | number | bigint | string | Uint8Array;

type SqlStatement = {
  all(...parameters: SqlValue[]): unknown[];
  run(...parameters: SqlValue[]): { changes: number | bigint };
  columns(): readonly { readonly name: string }[];
  setReturnArrays(isOn: boolean): void;
};

export type Database = {
  exec(sql: string): void;
  prepare(sql: string): SqlStatement;
  function(name: string, work: (value: SqlValue) => SqlValue): void;
  readonly isTransaction: boolean;
  close(): void;
};

type SqliteModule = { readonly DatabaseSync: new (path: string, options: object) => Database };

/**
 * The path of the packaged SQLite, set by the build. All code must load the same copy, because two
 * copies in one process would release each other's file locks.
 */
declare const WAYPOST_SQLITE: string;
const packaged =
  typeof WAYPOST_SQLITE === "undefined" ? "../../dist/sqlite/lib/index.cjs" : WAYPOST_SQLITE;

/** The oldest safe version. Earlier ones can corrupt a file that several processes write. */
const soundVersion = "3.51.3";

export class NoEngine extends Error {
  override readonly name = "NoEngine";
}

let loaded: SqliteModule | undefined;

/** Opens a file. The lock timeout is 0, because waiting for a lock would block the thread. */
export function openDatabase(path: string, { readOnly = false } = {}): Database {
  loaded ??= isSound(process.versions["sqlite"]) ? loadBuiltIn() : loadPackaged();
  return new loaded.DatabaseSync(path, { timeout: 0, readOnly });
}

export const callerLeft = "the caller of this statement has left";

/**
 * Defines the SQL function `is_awaited`, which throws once the caller no longer waits for the
 * statement (see `whileAwaited`). Neither driver has another way to interrupt a statement.
 */
export function defineIsAwaited(database: Database, isAwaited: () => boolean): void {
  database.function("is_awaited", () => {
    if (!isAwaited()) throw new Error(callerLeft);
    return 1;
  });
}

function isSound(version = "0"): boolean {
  return soundVersion.localeCompare(version, "en", { numeric: true }) <= 0;
}

/** Loads Node's SQLite, without the warning that it is experimental. */
function loadBuiltIn(): SqliteModule {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = () => undefined;
  try {
    return requireEngine("node:sqlite");
  } finally {
    process.emitWarning = emitWarning;
  }
}

function loadPackaged(): SqliteModule {
  try {
    return requireEngine(packaged);
  } catch (cause) {
    const message =
      "This Node.js has no usable SQLite, and Waypost includes none for this processor. " +
      "Use Node.js 24, or Node.js 22.23 or newer.";
    throw new NoEngine(message, { cause });
  }
}

function requireEngine(name: string): SqliteModule {
  // Loaded at run time, because either module may be missing. Both modules have the same API.
  return createRequire(import.meta.url)(name) as SqliteModule;
}

export type SqlQuery = { readonly sql: string; readonly parameters: readonly unknown[] };

export type StatementResult = {
  readonly rows: readonly Readonly<Record<string, SqlValue | undefined>>[];
  readonly numAffectedRows?: bigint;
};

/** Runs a statement. Returns a promise only if the statement runs in another thread. */
export type RunStatement = (query: SqlQuery) => StatementResult | Promise<StatementResult>;

/** The maximum number of prepared statements. Filters produce many different statements. */
const mostPrepared = 200;

type PreparedStatement = { readonly statement: SqlStatement; readonly names: readonly string[] };

/**
 * Returns a function that runs statements synchronously. The most recently used ones stay prepared.
 */
export function createStatementRunner(database: Database): (query: SqlQuery) => StatementResult {
  const preparedBySql = new Map<string, PreparedStatement>();

  function findPrepared(sql: string): PreparedStatement {
    const known = preparedBySql.get(sql);
    const prepared = known ?? prepareStatement(database, sql);
    if (known !== undefined) preparedBySql.delete(sql);
    preparedBySql.set(sql, prepared);
    const [oldest] = preparedBySql.keys();
    if (preparedBySql.size > mostPrepared && oldest !== undefined) preparedBySql.delete(oldest);
    return prepared;
  }

  return ({ sql, parameters }) => {
    // The cast is safe, because our columns contain only these types. Kysely types them as unknown.
    const values = parameters as readonly SqlValue[];
    refuseNul(values);
    const { statement, names } = findPrepared(sql);
    if (names.length === 0) {
      return { rows: [], numAffectedRows: BigInt(statement.run(...values).changes) };
    }
    // The cast is safe, because `prepareStatement` makes the statement return arrays.
    const rows = statement.all(...values) as (readonly SqlValue[])[];
    return { rows: rows.map((cells) => nameCells(names, cells)) };
  };
}

function prepareStatement(database: Database, sql: string): PreparedStatement {
  const statement = database.prepare(sql);
  // Row objects from the driver have no prototype, and are slow to create and to copy.
  statement.setReturnArrays(true);
  return { statement, names: statement.columns().map(({ name }) => name) };
}

function nameCells(names: readonly string[], cells: readonly SqlValue[]) {
  const row: Record<string, SqlValue | undefined> = {};
  // An index loop, because a loop with an iterator is much slower.
  for (let at = 0; at < names.length; at += 1) row[names[at] ?? ""] = cells[at];
  return row;
}

/**
 * Rejects text that contains a NUL. The driver would cut the text there and match the wrong rows.
 */
export function refuseNul(values: readonly unknown[]): void {
  if (values.some(hasNul)) throw new Error("a text with a NUL reached the database");
}

function hasNul(value: unknown): boolean {
  return typeof value === "string" && value.includes("\0");
}
