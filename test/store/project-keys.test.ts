import { sql as raw, type Kysely } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hashToken } from "../../src/service/ids.ts";
import { takeUpTo } from "../../src/sql/copied-tables.ts";
import { runMigrations } from "../../src/sql/migrate.ts";
import type { Sql } from "../../src/sql/sql.ts";
import { deleteClientKey, findClientHolder, listClientKeys } from "../../src/store/client-keys.ts";
import { listDead, listDueDeliveries } from "../../src/store/deliveries.ts";
import { Duplicate, openStore, storeMigrations, type Store } from "../../src/store/store.ts";
import type { Tables } from "../../src/store/tables.ts";
import { listDue } from "../../src/store/webhook-turns.ts";
import { findWebhook, listWebhooks, readSecret } from "../../src/store/webhooks.ts";
import { neverRing } from "../support/alarms.ts";
import { takeEmptyDatabase } from "../support/postgres.ts";
import { createPlace, isOnPostgres, type StorePlace } from "../support/store-place.ts";

/** Tables of before webhooks, deliveries and client keys had their project in their keys. */

let place: StorePlace;
let store: Store;
let indexesBefore: readonly string[];
let keysBefore: readonly object[];

beforeAll(async () => {
  place = await createPlace(takeEmptyDatabase);
  const sql = await place.open();
  await runMigrations(sql, takeUpTo(storeMigrations[sql.engine], 17));
  await plant(sql);
  indexesBefore = await listIndexes(sql.db);
  keysBefore = await readKeys(sql.db);
  store = await openStore(sql, neverRing);
});
afterAll(async () => {
  await store.close();
  await place[Symbol.asyncDispose]();
});

const projects = ["one", "two"];
const settings = { plan: "pro", max_links: 9, custom_domain_verified: 0, templates_enabled: 1 };
const project = { ...settings, link_in_referrer: 0, suspended: 0, created_at: 1, updated_at: 1 };
const waits = { runs_until: 0, failures: 0, rests_until: 7, last_fault: "status 500" };
const webhook = { ...waits, events: '["link.created"]', created_at: 1 };
const waiting = { number: 5, part: 0, event: "link.created", subject: "a link", body: "{}" };
const delivery = { ...waiting, state: "waiting", attempts: 0, next_at: 0, created_at: 1 };

/** What Kysely knows of the tables is what they are by now. */
type Row = Readonly<Record<string, string | number>>;

type Planted = readonly (readonly [keyof Tables, Row])[];

function describeRows(project_id: string): Planted {
  const webhook_id = `hook of ${project_id}`;
  const token_hash = hashToken(`token of ${project_id}`);
  const address = { url: `https://${project_id}.example/`, secret: `secret of ${project_id}` };
  const dead = { state: "dead", next_at: 9, attempts: 3, fault: "status 500" };
  return [
    ["projects", { ...project, id: project_id, name: project_id, subdomain: project_id }],
    ["webhooks", { ...webhook, ...address, project_id, id: webhook_id }],
    ["deliveries", { ...delivery, webhook_id, event_id: "evt" }],
    ["deliveries", { ...delivery, ...dead, webhook_id, event_id: "lost" }],
    ["client_keys", { project_id, id: `key of ${project_id}`, created_at: 2, token_hash }],
  ];
}

/** Its webhook was revoked, and the chore that takes it away has not come yet. */
const nobodys = { ...delivery, webhook_id: "revoked", event_id: "evt" };

async function plant(sql: Sql<Tables>): Promise<void> {
  const rows: Planted = [...projects.flatMap(describeRows), ["deliveries", nobodys]];
  await sql.write(async (db) => {
    for (const [table, row] of rows) await db.insertInto(table).values(row).execute();
  });
}

async function listIndexes(db: Kysely<Tables>): Promise<readonly string[]> {
  const ours = raw`('webhooks', 'deliveries', 'client_keys')`;
  const { rows } = await (
    isOnPostgres
      ? raw<{ name: string }>`select indexname as name from pg_indexes where tablename in ${ours}`
      : raw<{ name: string }>`select name from sqlite_schema
        where type in ('index', 'trigger') and tbl_name in ${ours} and name not like 'sqlite%'`
  ).execute(db);
  return rows.map(({ name }) => name).toSorted();
}

const readKeys = async (db: Kysely<Tables>) =>
  (await raw<object>`select * from client_keys order by id`.execute(db)).rows;

test("a process that had the tables open reads each column as what it was", async () => {
  const [first] = keysBefore;
  expect(first).toMatchObject({ id: "key of one", project_id: "one", created_at: 2 });
  expect(await readKeys(store.db)).toEqual(keysBefore);
});

test.each(projects)(
  "the webhook of project %s waits, was refused and signs as before",
  async (id) => {
    const own = { project_id: id, id: `hook of ${id}` };
    expect(await findWebhook(store.db, own)).toMatchObject({
      ...own,
      url: `https://${id}.example/`,
      events: ["link.created"],
      created_at: 1,
      waiting: 1,
      dead: 1,
      last_fault: "status 500",
    });
    expect(await readSecret(store.db, own)).toBe(`secret of ${id}`);
    expect(await listDueDeliveries(store.db, own, 1, 10)).toMatchObject([{ event_id: "evt" }]);
    const dead = { event_id: "lost", attempts: 3, fault: "status 500", given_up_at: 9 };
    expect(await listDead(store.db, own, 10)).toMatchObject([dead]);
    const other = projects.find((each) => each !== id) ?? "";
    expect(await findWebhook(store.db, { ...own, project_id: other })).toBeUndefined();
  },
);

test("what is due is found for all projects, and nothing of a revoked webhook", async () => {
  const places = projects.map((project_id) => ({ project_id, id: `hook of ${project_id}` }));
  const due = await listDue(store.db, { now: 8, latest: 9 }, { areFailing: false, limit: 10 });
  const found = due.map(({ project_id, id }) => ({ project_id, id }));
  expect(found.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(places);
  expect(await listWebhooks(store.db)).toHaveLength(2);
  const all = await store.db.selectFrom("deliveries").select("project_id").execute();
  expect(all.map(({ project_id }) => project_id).toSorted()).toEqual(["one", "one", "two", "two"]);
});

test("client keys open what they did, and end in their project alone", async () => {
  expect(await findClientHolder(store.db, hashToken("token of one"))).toMatchObject({
    key_id: "key of one",
    project: { id: "one" },
  });
  const token_hash = hashToken("token of one");
  const row = { id: "other", project_id: "two", created_at: 1, token_hash };
  const repeat = store.write((db) => db.insertInto("client_keys").values(row).execute());
  await expect(repeat).rejects.toThrow(Duplicate);
  const end = (projectId: string) =>
    store.write((db) => deleteClientKey({ db, projectId }, "key of one"));
  expect([await end("two"), await end("one")]).toEqual([false, true]);
  expect(await listClientKeys(store.db)).toEqual([
    { id: "key of two", project_id: "two", created_at: 2 },
  ]);
});

test("the tables have the indexes that they had", async () => {
  expect(indexesBefore.length).toBeGreaterThan(3);
  expect(await listIndexes(store.db)).toEqual(indexesBefore);
});
