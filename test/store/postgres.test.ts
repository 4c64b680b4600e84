import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stateCopy } from "../../src/state/copied-tables.ts";
import {
  describeDatabaseOf,
  localTables,
  sharedTables,
  tenantTables,
} from "../../src/store/engines/describe-database.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import type { Tables } from "../../src/store/tables.ts";
import { neverRing } from "../support/alarms.ts";
import { findStatementFault } from "../support/postgres-statements.ts";
import { query, takeDatabase, type TestDatabase } from "../support/postgres.ts";
import { describeStore } from "./store-contract.ts";

describeStore("a store on PostgreSQL", async () => {
  const database = await takeDatabase();
  const opened: Store[] = [];
  return {
    open: async () => {
      const store = await openStore(await database.open<Tables>(), neverRing);
      opened.push(store);
      return store;
    },
    [Symbol.asyncDispose]: async () => {
      for (const store of opened) await store.close();
      await database.giveBack();
    },
  };
});

describe("the tables on PostgreSQL", () => {
  let database: TestDatabase;
  let store: Store;

  beforeAll(async () => {
    database = await takeDatabase();
    store = await openStore(await database.open<Tables>(), neverRing);
    await store.write(() => Promise.resolve());
  });
  afterAll(async () => {
    await store.close();
    await database.giveBack();
  });

  test("are a project's, everybody's or the first machine's, and all are told", async () => {
    const rows = await query(
      database.url,
      "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'",
    );
    const told = [...tenantTables, ...sharedTables, ...localTables];
    // A database that a test of the state had before has its tables as well.
    const copied = stateCopy.tables.map(({ name }) => name);
    const others = new Set(["state_migrations", ...copied, ...(stateCopy.left ?? [])]);
    const names = rows.map(({ relname }) => String(relname)).filter((name) => !others.has(name));
    expect(names.toSorted()).toEqual(told.toSorted());
    const { slow, distribution } = await describeDatabaseOf(store.db);
    expect(slow).toEqual([]);
    expect(distribution).toHaveLength(told.length);
  });

  test("that are a project's have it first in all that is unique in them", async () => {
    const rows = await query(
      database.url,
      `select t.relname, (
          select attname from pg_attribute where attrelid = t.oid and attnum = i.indkey[0]
        ) as first
      from pg_index i join pg_class t on t.oid = i.indrelid
      where t.relnamespace = 'public'::regnamespace and i.indisunique`,
    );
    const unique = rows.filter(({ relname }) =>
      (tenantTables as readonly unknown[]).includes(relname),
    );
    expect(unique.length).toBeGreaterThanOrEqual(tenantTables.length);
    expect(new Set(unique.map(({ first }) => first))).toEqual(new Set(["project_id"]));
  });

  test("compare every text by code points, whatever the database's own order is", async () => {
    const rows = await query(
      database.url,
      `select attrelid::regclass::text || '.' || attname as name from pg_attribute
      where attrelid in (select oid from pg_class where relnamespace = 'public'::regnamespace
        and relkind = 'r' and relname not in ('waypost_writers', 'migrations', 'state_migrations'))
      and atttypid = 'text'::regtype and attcollation <> '"C"'::regcollation`,
    );
    expect(rows).toEqual([]);
  });
});

test.each([
  ["select * from links where id = $1", "lacks its project"],
  ['delete from "bin" where "id" = $1', "lacks its project"],
  ["select * from links where project_id = $1 and id = $2", undefined],
  ["select * from projects where id = $1", undefined],
  ["set statement_timeout = 5", "leaves something in the session"],
  ["begin; set local statement_timeout = 5", undefined],
  ["begin; set statement_timeout = 5", "leaves something in the session"],
  ["listen changes", "leaves something in the session"],
  ["select pg_try_advisory_lock(1)", "leaves something in the session"],
])("of the statement %s, the tests say that it %s", (text, fault) => {
  expect(findStatementFault(text)).toBe(fault);
});
