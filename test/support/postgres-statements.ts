import { Client } from "pg";
import { tenantTables } from "../../src/store/engines/describe-database.ts";

/**
 * Looks at every statement that our code runs on PostgreSQL while the tests run: none about a
 * project's data lacks its project, or Citus would ask every machine for it; and none leaves
 * anything in the session, or PgBouncer would hand it to somebody else.
 */

const tables = new RegExp(`(from|into|update|join) "?(${tenantTables.join("|")})\\b`);
/** `set local` ends with its transaction. */
const ofSession = /(^|;)\s*(listen|notify|prepare|declare|set (?!local))|\bpg_\w*advisory\w*\(/i;
const known = new Set<string>();

export function findStatementFault(text: string): string | undefined {
  if (ofSession.test(text)) return "leaves something in the session";
  const isWhole = /^\s*(create|alter|drop) /.test(text);
  return isWhole || !tables.test(text) || text.includes("project_id")
    ? undefined
    : "lacks its project";
}

/** Of tests' own statements nothing is promised. */
function isOurs(stack: string): boolean {
  return /\/src\/(store|state|service|host)\//.test(stack);
}

// The driver types many ways to call it, of which we use those with a text or a query's text.
type Query = (asked: unknown, ...rest: readonly unknown[]) => unknown;
const prototype = Client.prototype as unknown as { query: Query };
const { query } = prototype;

prototype.query = function look(this: Client, asked, ...rest) {
  const text = typeof asked === "string" ? asked : "";
  const fault = known.has(text) ? undefined : findStatementFault(text);
  if (fault === undefined) known.add(text);
  else {
    Error.stackTraceLimit = 50;
    if (isOurs(new Error("asked here").stack ?? "")) throw new Error(`${text} ${fault}`);
  }
  return query.call(this, asked, ...rest);
};
