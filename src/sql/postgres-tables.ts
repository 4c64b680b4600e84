import { runStatements, type Migration } from "./migrate.ts";
import type { Engine } from "./sql.ts";

/** Of pg_class, the tables in the schema where ours are made, whatever its name is. */
export const inOwnSchema =
  "relnamespace = to_regnamespace(quote_ident(current_schema())) and relkind in ('r', 'p')";

/**
 * Makes tables in PostgreSQL. Each text says that it is compared by code points, as SQLite does,
 * for a database has an order of its own.
 */
export function makePostgresTables(statements: readonly string[]): Migration["up"] {
  return (db) => runStatements(db, statements.map(nameOrder));
}

/** The type of a text that a table gets later on. */
export function nameTextType(engine: Engine): string {
  return engine === "postgres" ? 'text collate "C"' : "text";
}

function nameOrder(statement: string): string {
  return statement.replace(/^( {4}\w+) text/gm, '$1 text collate "C"');
}
