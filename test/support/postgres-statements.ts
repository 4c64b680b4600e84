import { Client } from "pg";
import { spreadTables } from "../../src/compose/spread-tables.ts";
import { findUnpinned, type Spread } from "./find-unpinned.ts";

/**
 * Looks at every statement that our code runs on PostgreSQL while the tests run. None about a
 * project's data, a plan's rows or a key's files lacks whose it means, wherever that lies, or Citus
 * would ask every machine for it; and none leaves anything in the session, or PgBouncer would hand
 * it to somebody else.
 */

/** `set local` ends with its transaction. */
const ofSession = /(^|;)\s*(listen|notify|prepare|declare|set (?!local))|\bpg_\w*advisory\w*\(/i;

export const spread: Spread = new Map(
  spreadTables.flatMap((table) => {
    if (table.lies === "shared") return [];
    const by = "by" in table ? table.by : undefined;
    return [[table.name, { by, isAlone: table.lies !== "spread" }] as const];
  }),
);

/** What is meant to ask for all projects, and why nobody waits for it; a test has one of each. */
export const everywhere: readonly { readonly text: RegExp; readonly why: string }[] = [
  {
    text: /^\s*select (".+?" as "c\d+",? ?)+/,
    why: "a backup or a migration reads every table to its end",
  },
  { text: /^\s*select count\(\*\) as "rows" from "\w+"\s*$/, why: "it counts what it will read" },
  {
    text: /^select "project_id" from "tallies" where "links" >= \$1$/,
    why: "a finished copy decides once which projects are large",
  },
  {
    text: /^select "realm", "number" from "changes" where "at" <= \$1 limit \$2$/,
    why: "once a minute, what is too old in projects that nobody writes in any more",
  },
  {
    text: /^delete from "exports" where "expires_at" <= \$1$/,
    why: "once a minute, and before a file is written, which reads all links of a project",
  },
  {
    text: /^\s*select project_id, id, url, secret from webhooks\b/,
    why: "once a second, those that something is to be delivered to",
  },
  {
    text: /^select "project_id", "id" from "webhooks"$/,
    why: "every ten minutes, whose events are too old",
  },
  {
    text: /^select "id", "project_id", [^()]+ from "webhooks" order by "created_at", "id"$/,
    why: "a list of all at the terminal, and doctor",
  },
  {
    text: /^select ("id", )?"project_id"[^()]* from "webhooks" where "id" = \$1$/,
    why: "one that the terminal, or a process of the version before, names by its id alone",
  },
  {
    text: /^select "state", count\(\*\) as "count" from "deliveries" group by "state"$/,
    why: "whoever watches over it asks now and then how many there are",
  },
  {
    text: /^select sum\("dropped"\) as "dropped" from "webhooks"$/,
    why: "whoever watches over it asks now and then how many were dropped",
  },
  {
    text: /^(select "id"|delete) from "deferred_visits" where \("ends_at" <= \$1 or [^()]+\)/,
    why: "once a minute, what is over",
  },
  { text: /^select \* from "chores"$/, why: "once a second, what is to be done" },
  {
    text: /^select \* from "notices" order by "at" limit \$1$/,
    why: "once a second, what is to be told",
  },
  {
    text: /^(select "id"|delete) from "notices" where "at" <= \$1( limit \$2)?$/,
    why: "now and then, what nobody has taken over",
  },
];

export function findStatementFault(text: string): string | undefined {
  if (ofSession.test(text)) return "leaves something in the session";
  if (everywhere.some((meant) => meant.text.test(text))) return undefined;
  const faults = findUnpinned(text, spread);
  return faults.length === 0 ? undefined : faults.join(", ");
}

/** Of tests' own statements nothing is promised: whoever is nearest to the driver has asked. */
function isOurs(stack: string): boolean {
  const frames = stack.split("\n").filter((line) => !/node_modules|\/src\/sql\//.test(line));
  const asker = frames.find((line) => /\/(src|test)\/(?!support\/postgres-statements)/.test(line));
  return asker === undefined || asker.includes("/src/");
}

const known = new Set<string>();

// The driver types many ways to call it, of which we use those with a text or a query's text.
type Query = (asked: unknown, ...rest: readonly unknown[]) => unknown;
// The driver stays when the tests of the next file begin: the one look is put in another's place.
const drivers = Symbol.for("waypost tests: the driver's own query");
const prototype = Client.prototype as unknown as { query: Query; [drivers]?: Query };
const query = (prototype[drivers] ??= prototype.query);

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
