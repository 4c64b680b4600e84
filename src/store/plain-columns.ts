import { sql, type RawBuilder } from "kysely";
import { readEngine } from "../sql/open-kysely.ts";
import type { Db } from "./tenant.ts";

/** A column of numbers or times, and the text by which `cont` and `start` compare it. */
export type PlainColumn = { readonly column: string; readonly text: RawBuilder<string> };

export function describeNumber(column: string): PlainColumn {
  return { column, text: sql<string>`cast(${sql.ref(column)} as text)` };
}

/** A time is compared as the API prints it, in lower case: `2026-01-16t00:00:00.000z`. */
export function describeTime(db: Db, column: string): PlainColumn {
  return { column, text: writers[readEngine(db)](sql.ref(column)) };
}

const writers = {
  sqlite: (time: RawBuilder<unknown>) => sql<string>`
    (strftime('%Y-%m-%dt%H:%M:%S', ${time} / 1000, 'unixepoch') || printf('.%03dz', ${time} % 1000))
  `,
  postgres: (time: RawBuilder<unknown>) => sql<string>`
    to_char(to_timestamp(${time} / 1000) at time zone 'UTC', 'YYYY-MM-DD"t"HH24:MI:SS')
    || to_char(${time} % 1000, 'FM"."000"z"')
  `,
};
