import { sql, type Kysely } from "kysely";
import { fold } from "../../contract/text.ts";
import { runStatements, type Migration } from "../../sql/migrate.ts";

/**
 * Links are found by their destinations, referrers and titles as well. The indexes of large
 * projects are made anew with two of these columns: until they are whole, lists are read through.
 */
export const foundByAnything: Migration = {
  name: "007-found-by-anything",
  up: async (db) => {
    const added = columns.map((column) => `alter table links add column ${column}_lc text`);
    await runStatements(db, added);
    await foldAll(db);
    await renewIndexes(db);
  },
};

const columns = [
  "url",
  "ios_fallback_url",
  "android_fallback_url",
  "referrer",
  "social_title",
] as const;

const batchRows = 1000;

type Row = { readonly rowkey: number } & Readonly<Record<(typeof columns)[number], string | null>>;

/** The engine folds ASCII as we do, and that is nearly all that an address is made of. */
async function foldAll(db: Kysely<unknown>): Promise<void> {
  const named = columns.map((column) => sql.ref(column));
  const lowered = columns.map(
    (column) => sql`${sql.ref(`${column}_lc`)} = lower(${sql.ref(column)})`,
  );
  await sql`update links set ${sql.join(lowered)}`.execute(db);
  const more = columns.map((column) => {
    return sql`length(${sql.ref(column)}) <> length(cast(${sql.ref(column)} as blob))`;
  });
  for (let after = -1; ;) {
    const { rows } = await sql<Row>`
      select rowkey, ${sql.join(named)} from links
      where rowkey > ${after} and (${sql.join(more, sql` or `)})
      order by rowkey limit ${batchRows}
    `.execute(db);
    for (const row of rows) {
      const folded = columns.map((column) => {
        const text = row[column];
        return sql`${sql.ref(`${column}_lc`)} = ${text === null ? null : fold(text)}`;
      });
      await sql`update links set ${sql.join(folded)} where rowkey = ${row.rowkey}`.execute(db);
    }
    after = rows.at(-1)?.rowkey ?? after;
    if (rows.length < batchRows) return;
  }
}

async function renewIndexes(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ readonly project_id: string }>`
    select project_id from tallies where indexed_to is not null
  `.execute(db);
  for (const { project_id } of rows) {
    const table = `links_contains_${project_id.replaceAll("-", "")}`;
    await runStatements(db, [
      `drop table if exists ${table}`,
      `create virtual table ${table} using fts5 (
        name, path, shortened_path, url, social_title,
        content='', contentless_delete=1, tokenize='trigram case_sensitive 1'
      )`,
    ]);
    await sql`update tallies set indexed_to = '' where project_id = ${project_id}`.execute(db);
    await sql`
      insert into chores (kind, project_id, subject) values ('index_project', ${project_id}, '')
      on conflict do nothing
    `.execute(db);
  }
}
