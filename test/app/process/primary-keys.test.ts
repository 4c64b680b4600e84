import { randomBytes } from "node:crypto";
import { sql as raw, type Kysely } from "kysely";
import { expect, test } from "vitest";
import { openStore } from "../../../src/store/store.ts";
import { createTestClock, neverRing } from "../../support/clock.ts";
import { openForAll } from "../../support/open-for.ts";
import { createPlace, isOnPostgres, type StorePlace } from "../../support/store-place.ts";

/**
 * The catalog of each engine: a table's project is first in its primary key, or the reason why not
 * is here. A column that names a project is called so by one of two names.
 */

const projectColumns: ReadonlySet<string> = new Set(["project_id", "realm"]);

/** Looked up before it is known which project is meant: each machine of a database has them all. */
const references = {
  projects: "the project itself, found by the host of an address",
  api_keys: "found by the hash of a token; a master key has no project",
};

/** What is an assistant's or a person's is of a key, which may reach another project tomorrow. */
const ofKeys = {
  plans: "of a key, found by its id",
  plan_rows: "of a plan",
  jobs: "of a plan; in whose history it is, if in any, does not make it a project's",
  approvals: "of a key, found by what is in an address",
  uses: "of a key, an approval or an address",
  kept_values: "of a key or a browser, for a while",
};

const ofWaypost = {
  secrets: "of all processes",
  store_secrets: "of all processes",
  request_counts: "of a process",
  waypost_migrations: "marks of what was done to the tables",
  state_migrations: "marks of what was done to the tables",
};

/** Besides, on one engine alone. */
const ofEngine = isOnPostgres
  ? {}
  : {
      // Only one machine ever has a file.
      links: "SQLite's number of the row, by which the index of texts finds it",
      changes: "SQLite's number of the row, which tells the order",
    };

const withoutProject = { ...references, ...ofKeys, ...ofWaypost, ...ofEngine };

type Table = {
  readonly name: string;
  readonly columns: readonly string[];
  readonly key: readonly string[];
};

let place: StorePlace;
let tables: readonly Table[];
openForAll(createPlace, async (created) => {
  place = created;
  const store = await openStore(await place.open(), neverRing);
  await store.write(() => Promise.resolve());
  // Kysely knows no table of the engine's own.
  const untyped = store.db as unknown as Kysely<unknown>;
  const clock = createTestClock();
  const random = { bytes: (count: number) => randomBytes(count) };
  await (await place.openState({ clock, random })).close();
  tables = await readTables(untyped);
  if (!isOnPostgres) {
    const state = await place.openStateSql();
    const ofState = await readTables(state.db as unknown as Kysely<unknown>);
    tables = [...tables, ...ofState];
    await state.close();
  }
  await store.close();
});

type Column = {
  readonly name: string;
  readonly column: string;
  /** Its place in the primary key, from 1; 0 where it is not in the key. */
  readonly place: number;
};

const selectColumns = isOnPostgres
  ? raw<Column>`
    select relname as name, attname as column, 
      coalesce(array_position(indkey::int2[], attnum) + 1, 0) as place
    from pg_class join pg_attribute on attrelid = pg_class.oid
    left join pg_index on indrelid = pg_class.oid and indisprimary
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
      and attnum > 0 and not attisdropped
    order by relname, attnum`
  : raw<Column>`
    select tables.name, columns.name as "column", columns.pk as place
    from sqlite_schema as tables, pragma_table_info(tables.name) as columns
    where tables.type = 'table' and tables.name not like 'sqlite\\_%' escape '\\'
    order by tables.name, columns.cid`;

async function readTables(db: Kysely<unknown>): Promise<readonly Table[]> {
  const { rows } = await selectColumns.execute(db);
  return [...new Set(rows.map(({ name }) => name))].map((name) => {
    const own = rows.filter((row) => row.name === name);
    const inKey = own.filter(({ place: at }) => at > 0).toSorted((a, b) => a.place - b.place);
    const key = inKey.map(({ column }) => column);
    return { name, columns: own.map(({ column }) => column), key };
  });
}

const names = (some: readonly Table[]) => some.map(({ name }) => name).toSorted();
const hasProject = (columns: readonly string[]) =>
  columns.some((column) => projectColumns.has(column));
const beginsWithProject = ({ key }: Table) => projectColumns.has(key[0] ?? "");

test("every table has a primary key that begins with its project, or it is said why not", () => {
  expect(tables.length).toBeGreaterThan(20);
  expect(tables.filter(({ key }) => key.length === 0)).toEqual([]);
  const others = tables.filter((table) => !beginsWithProject(table));
  expect(names(others)).toEqual(Object.keys(withoutProject).toSorted());
});

test("a table that names a project leaves it out of its key for a reason of its own", () => {
  const naming = tables.filter((table) => hasProject(table.columns) && !beginsWithProject(table));
  const onEngine = isOnPostgres ? [] : ["changes", "links"];
  expect(names(naming)).toEqual(["api_keys", ...onEngine, "jobs"].toSorted());
});
