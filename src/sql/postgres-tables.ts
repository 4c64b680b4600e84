import { runStatements, type Migration } from "./migrate.ts";

/**
 * Makes tables in PostgreSQL. Each text says that it is compared by code points, as SQLite does,
 * for a database has an order of its own.
 */
export function makePostgresTables(statements: readonly string[]): Migration["up"] {
  return (db) => runStatements(db, statements.map(nameOrder));
}

function nameOrder(statement: string): string {
  return statement.replace(/^( {4}\w+) text/gm, '$1 text collate "C"');
}
