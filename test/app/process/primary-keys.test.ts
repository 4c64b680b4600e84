import { randomBytes } from "node:crypto";
import { sql as raw, type Kysely } from "kysely";
import { expect, test } from "vitest";
import { openStore } from "../../../src/store/store.ts";
import { createTestClock, neverRing } from "../../support/clock.ts";
import { openForAll } from "../../support/open-for.ts";
import { createPlace, isOnPostgres, type StorePlace } from "../../support/store-place.ts";

/** Each table's primary key begins with the project, or the reason why not is listed here. */

const projectColumns: ReadonlySet<string> = new Set(["project_id", "realm"]);

/** Needed before the project is known, so each machine of a cluster has all these rows. */
const references = {
  projects: "the project itself, found by the host of an address",
  api_keys: "found by the hash of a token; a master key has no project",
};

/** Data of an assistant or a user belongs to a key. */
const ofKeys = {
  plans: "of a key, found by its id",
  plan_rows: "of a plan",
  jobs: "of a plan; the project is only for the history",
  approvals: "of a key, found by the token in an address",
  uses: "of a key, an approval or an address",
  kept_values: "of a key or a browser, for a while",
};

const ofWaypost = {
  secrets: "of all processes",
  store_secrets: "of all processes",
  request_counts: "of a process",
  waypost_migrations: "applied migrations of the tables",
  state_migrations: "applied migrations of the tables",
};

/** Exceptions on only one engine. */
const ofEngine = isOnPostgres
  ? {}
  : {
      // A SQLite file is never spread over machines.
      links: "SQLite's row number, which the full-text index uses",
      changes: "SQLite's row number, which is the order",
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
  // Kysely has no types for the engine's own tables.
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
  /** Its position in the primary key from 1, or 0 if it is not in the key. */
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

test("each table's primary key starts with a project column, with known exceptions", () => {
  expect(tables.length).toBeGreaterThan(20);
  expect(tables.filter(({ key }) => key.length === 0)).toEqual([]);
  const others = tables.filter((table) => !beginsWithProject(table));
  expect(names(others)).toEqual(Object.keys(withoutProject).toSorted());
});

test("each project column comes first in its table's primary key, with known exceptions", () => {
  const naming = tables.filter((table) => hasProject(table.columns) && !beginsWithProject(table));
  const onEngine = isOnPostgres ? [] : ["changes", "links"];
  expect(names(naming)).toEqual(["api_keys", ...onEngine, "jobs"].toSorted());
});
