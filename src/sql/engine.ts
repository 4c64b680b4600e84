import { createRequire } from "node:module";

/**
 * One synchronous SQLite API from two places: the runtime's own `node:sqlite` where its SQLite is
 * sound, else `@photostructure/sqlite`, which offers the same API with a newer SQLite inside. The
 * build copies that package into `dist`.
 */

export type SqlValue = null | number | bigint | string | Uint8Array;

export type Statement = {
  all(...parameters: SqlValue[]): unknown[];
  run(...parameters: SqlValue[]): { changes: number | bigint };
  columns(): readonly { readonly name: string }[];
  setReturnArrays(isOn: boolean): void;
};

export type Database = {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  function(name: string, work: (value: SqlValue) => SqlValue): void;
  readonly isTransaction: boolean;
  close(): void;
};

type Engine = { readonly DatabaseSync: new (path: string, options: object) => Database };

/** The build sets it. Two copies of SQLite in one process would undo each other's file locks. */
declare const WAYPOST_SQLITE: string;
const packaged =
  typeof WAYPOST_SQLITE === "undefined" ? "../../dist/sqlite/lib/index.cjs" : WAYPOST_SQLITE;

/** Earlier ones can corrupt a file that several processes write (storage.md, "Decisive traps"). */
const soundVersion = "3.51.3";

export class NoEngine extends Error {
  override readonly name = "NoEngine";
}

let loaded: Engine | undefined;

/** Opens a file. The driver is synchronous, so it must never wait for a lock: timeout is 0. */
export function openDatabase(path: string, { readOnly = false } = {}): Database {
  loaded ??= isSound(process.versions["sqlite"]) ? loadBuiltIn() : loadPackaged();
  return new loaded.DatabaseSync(path, { timeout: 0, readOnly });
}

/**
 * Gives a connection the function by which a long statement asks whether anybody still waits for
 * it (`whileAwaited`). An error is what ends it: no engine offers SQLite's own interrupt.
 */
export function defineIsAwaited(database: Database, isAwaited: () => boolean): void {
  database.function("is_awaited", () => {
    if (!isAwaited()) throw new Error("nobody waits for this statement");
    return 1;
  });
}

function isSound(version = "0"): boolean {
  return soundVersion.localeCompare(version, "en", { numeric: true }) <= 0;
}

/** Node says on every start that `node:sqlite` is experimental; a user can do nothing about it. */
function loadBuiltIn(): Engine {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = () => undefined;
  try {
    return requireEngine("node:sqlite");
  } finally {
    process.emitWarning = emitWarning;
  }
}

function loadPackaged(): Engine {
  try {
    return requireEngine(packaged);
  } catch (cause) {
    const message =
      "This Node.js has no usable SQLite, and Waypost includes none for this processor. " +
      "Use Node.js 24, or Node.js 22.23 or newer.";
    throw new NoEngine(message, { cause });
  }
}

function requireEngine(name: string): Engine {
  // Both modules export the same class; neither can be imported where it does not exist.
  return createRequire(import.meta.url)(name) as Engine;
}
