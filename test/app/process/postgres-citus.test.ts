import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { openState } from "../../../src/state/state.ts";
import type { StateTables } from "../../../src/state/tables.ts";
import { openStore } from "../../../src/store/store.ts";
import type { Tables } from "../../../src/store/tables.ts";
import { createTestClock, neverRing } from "../../support/clock.ts";
import { query, takeDatabase, type TestDatabase } from "../../support/postgres.ts";
import { openForAll } from "../../support/open-for.ts";

/** The Citus script of docs/postgresql.md, compared with the tables of a database. */

const script = readFileSync("docs/postgresql.md", "utf8");
const distributed = [...script.matchAll(/create_distributed_table\('(\w+)', '(\w+)'/g)];
const others = [...script.matchAll(/(?:reference_table|to_metadata)\('(\w+)'\)/g)];

let database: TestDatabase;

openForAll(takeDatabase, async (opened) => {
  database = opened;
  const clock = createTestClock();
  const random = { bytes: (count: number) => randomBytes(count) };
  await (await openStore(await database.open<Tables>(), neverRing)).close();
  await (await openState(await database.open<StateTables>(), { clock, random })).close();
});

test("every unique key of a Citus table includes the distribution column", async () => {
  const keys = await query(
    database.url,
    `select relname as name, (
      select array_agg(attname::text) from pg_attribute
      where attrelid = indrelid and attnum = any (indkey)
    ) as columns
    from pg_index join pg_class on pg_class.oid = indrelid
    where relnamespace = 'public'::regnamespace and indisunique`,
  );
  const names = new Set(keys.map(({ name }) => name));
  expect(distributed.length + others.length).toBeGreaterThan(20);
  for (const [, name = ""] of [...distributed, ...others]) expect(names).toContain(name);
  for (const [, name, column] of distributed) {
    for (const { columns } of keys.filter((key) => key["name"] === name)) {
      expect([name, columns]).toEqual([name, expect.arrayContaining([column])]);
    }
  }
});

test("the Citus script includes every table that contains project data", async () => {
  const rows = await query(
    database.url,
    `select distinct relname as name from pg_class join pg_attribute on attrelid = pg_class.oid
    where relnamespace = 'public'::regnamespace and relkind = 'r'
      and attname in ('project_id', 'realm')`,
  );
  const named = new Set([...distributed, ...others].map(([, name]) => name));
  const left = rows.map(({ name }) => String(name)).filter((name) => !named.has(name));
  expect(left).toEqual([]);
});
