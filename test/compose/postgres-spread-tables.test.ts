import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { spreadTables, writeDistribution } from "../../src/compose/spread-tables.ts";
import { renewProcess } from "../../src/sql/processes.ts";
import { openState } from "../../src/state/state.ts";
import type { StateTables } from "../../src/state/tables.ts";
import { openStore } from "../../src/store/store.ts";
import type { Tables } from "../../src/store/tables.ts";
import { neverRing } from "../support/alarms.ts";
import { run } from "../support/command.ts";
import { createFolder } from "../support/command.ts";
import { query, takeDatabase, type TestDatabase } from "../support/postgres.ts";

/**
 * The statements that spread the tables over the machines of Citus, held against the tables that
 * there are: what Citus asks of a table is looked at here on PostgreSQL.
 */

let database: TestDatabase;

beforeAll(async () => {
  database = await takeDatabase();
  const store = await openStore(await database.open<Tables>(), neverRing);
  await store.write(() => Promise.resolve());
  // The table is made by the first process that stands in it.
  const any = await database.open<unknown>();
  await renewProcess(any.db, { id: "a", host: "here", pid: 1 });
  await any.close();
  await store.close();
  const random = { bytes: (count: number) => randomBytes(count) };
  const clock = { now: Date.now, monotonic: () => performance.now() };
  const state = await openState(await database.open<StateTables>(), { clock, random });
  await state.close();
});
afterAll(() => database.giveBack());

const spread = spreadTables.flatMap((table) => (table.lies === "spread" ? [table] : []));
const isSpread = `c.relname in (${spread.map(({ name }) => `'${name}'`).join(", ")})`;

test("every table of the database is told, and none that is not there", async () => {
  const rows = await query(
    database.url,
    "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'",
  );
  const told = writeDistribution().map((line) => {
    const names = /^(?:-- (\w+) stays|select (?:create|citus)_\w+\('(\w+)')/.exec(line);
    return names?.[1] ?? names?.[2] ?? line;
  });
  expect(told.toSorted()).toEqual(rows.map(({ relname }) => String(relname)).toSorted());
});

test("a table is put beside one that was spread before", () => {
  const before = new Set<string>();
  for (const line of writeDistribution()) {
    const [, name = "", beside = ""] =
      /^select create_distributed_table\('(\w+)', '\w+', colocate_with => '(\w+)'\);/.exec(line) ??
      [];
    if (name === "") continue;
    expect(beside === "none" || before.has(beside), line).toBe(true);
    before.add(name);
  }
  expect([...before].toSorted()).toEqual(spread.map(({ name }) => name).toSorted());
});

test("what a table is spread by is in all that is unique in it, and never empty", async () => {
  const rows = await query(
    database.url,
    `select c.relname as table, i.relname as index, x.indisprimary as "isPrimary", (
        select array_agg(attname::text) from pg_attribute
        where attrelid = c.oid and attnum = any (x.indkey)
      ) as columns
    from pg_index x join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
    where c.relnamespace = 'public'::regnamespace
      and (x.indisunique or x.indisexclusion) and ${isSpread}`,
  );
  for (const { name, by } of spread) {
    const unique = rows.filter(({ table }) => table === name);
    expect(
      unique.filter(({ isPrimary }) => isPrimary),
      name,
    ).toHaveLength(1);
    for (const { index, columns } of unique) expect(columns, String(index)).toContain(by);
  }
  const columns = await query(
    database.url,
    `select c.relname || '.' || attname as name, format_type(atttypid, atttypmod) as type,
      attnotnull as "isRequired", (
        select collname from pg_collation where oid = attcollation
      ) as collation
    from pg_attribute join pg_class c on c.oid = attrelid
    where relnamespace = 'public'::regnamespace and ${isSpread}`,
  );
  for (const { name, by } of spread) {
    // One type and one order of texts, or tables could not lie beside each other.
    expect(columns).toContainEqual({
      name: `${name}.${by}`,
      type: "text",
      isRequired: true,
      collation: "C",
    });
  }
});

test("no trigger, rule or foreign key hangs on a table that is spread", async () => {
  const rows = await query(
    database.url,
    `select tgname as name from pg_trigger join pg_class c on c.oid = tgrelid where ${isSpread}
    union all select rulename from pg_rewrite join pg_class c on c.oid = ev_class where ${isSpread}
    union all select conname from pg_constraint where contype = 'f'`,
  );
  expect(rows).toEqual([]);
  const numbered = await query(
    database.url,
    `select c.relname || '.' || attname as name, format_type(atttypid, atttypmod) as type
    from pg_attribute join pg_class c on c.oid = attrelid
    where ${isSpread} and (attidentity <> '' or attgenerated <> '' or atthasdef)`,
  );
  expect(new Map(numbered.map(({ name, type }) => [name, type]))).toEqual(
    new Map([
      // Of what an engine numbers, it spreads numbers of eight bytes alone.
      ["changes.number", "bigint"],
    ]),
  );
});

test("waypost doctor --database prints them all", async () => {
  await using folder = await createFolder();
  const words = ["doctor", "--database", "--database-url", database.url, "--data", folder.path];
  const { stdout } = await run(words);
  const printed = stdout.split("\n").filter((line) => /^(--|select) /.test(line));
  expect(printed).toEqual(writeDistribution());
});
