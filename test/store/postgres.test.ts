import { describe, expect, test } from "vitest";
import { listSlow } from "../../src/store/trigram-index.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import type { Tables } from "../../src/store/tables.ts";
import { neverRing } from "../support/clock.ts";
import { query, takeDatabase, type TestDatabase } from "../support/postgres.ts";
import { openForAll } from "../support/open-for.ts";

/** The indexes, order and types of the tables on PostgreSQL. */
describe("the tables on PostgreSQL", () => {
  let database: TestDatabase;
  let store: Store;

  openForAll(takeDatabase, async (opened, keep) => {
    database = opened;
    store = keep(await openStore(await database.open<Tables>(), neverRing));
  });

  test("have a trigram index if the extension pg_trgm can be created", async () => {
    expect(await listSlow(store.db)).toEqual([]);
  });

  test("compare text by code point in every locale", async () => {
    const rows = await query(
      database.url,
      `select attrelid::regclass::text || '.' || attname as name from pg_attribute
      where attrelid in (select oid from pg_class where relnamespace = 'public'::regnamespace
        and relkind = 'r' and relname !~ 'migrations')
      and atttypid = 'text'::regtype and attcollation <> '"C"'::regcollation`,
    );
    expect(rows).toEqual([]);
  });
});
