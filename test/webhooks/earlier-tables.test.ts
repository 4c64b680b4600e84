import { expect, test } from "vitest";
import { takeUpTo } from "../../src/sql/copied-tables.ts";
import { isCurrent, runMigrations } from "../../src/sql/migrate.ts";
import type { Sql } from "../../src/sql/sql.ts";
import { openStore, storeMigrations } from "../../src/store/store.ts";
import type { Tables } from "../../src/store/tables.ts";
import { neverRing } from "../support/alarms.ts";
import { takeEmptyDatabase } from "../support/postgres.ts";
import { startReceiver } from "../support/receiver.ts";
import { createPlace } from "../support/store-place.ts";
import { deliverIn } from "../support/webhook-world.ts";

/** Tables of before events were found by their numbers in an index, with events in them. */

const clock = { now: () => Date.UTC(2026, 0, 15, 12), monotonic: () => 0 };
const project_id = "a project";
const webhook_id = "a webhook";

const settings = { plan: "pro", max_links: 9, custom_domain_verified: 0, templates_enabled: 1 };
const project = { ...settings, link_in_referrer: 0, suspended: 0, created_at: 1, updated_at: 1 };
const webhook = { secret: "whsec_c2VjcmV0", events: "[]", runs_until: 0, created_at: 1 };

/** What Kysely knows of the tables is what they are by now. */
type Row = Readonly<Record<string, string | number>>;

const before = clock.now() - 1000;
const untried = { state: "waiting", attempts: 0, next_at: 0, refused: 0, created_at: before };
const tried = { attempts: 2, next_at: before, refused: 1, fault: "status 422" };

type Told = { readonly type: string; readonly id: string; readonly about: string };

/** As a receiver is told of it. */
const readTold = ({ body }: Row): Told => JSON.parse(String(body));

function describeRow(type: string, about: string, number: number, more: Row = {}): Row {
  const isClicked = type === "link.clicked";
  const data = isClicked ? { links: [{ id: about, clicks: 1 }] } : { link: { id: about } };
  const { part = 0 } = more;
  const event_id = `evt ${number} ${part}`;
  const body = JSON.stringify({ type, id: event_id, about, data });
  const row = { webhook_id, project_id, event_id, number, part, event: type, body };
  return { ...row, subject: isClicked ? "clicks" : about, ...untried, ...more };
}

/** More of them than are read at once: the last event of a link lies far behind its first. */
const ofOthers = Array.from({ length: 220 }, (_, place) =>
  describeRow("link.created", `link ${place}`, 100 + place),
);
const waiting: readonly Row[] = [
  describeRow("link.created", "one", 7, tried),
  describeRow("link.created", "two", 8),
  describeRow("link.updated", "one", 9),
  describeRow("link.clicked", "one", 10),
  describeRow("link.clicked", "two", 10, { part: 1 }),
  ...ofOthers,
  describeRow("link.deleted", "two", 1000),
  describeRow("link.deleted", "one", 1001),
];
const dead = describeRow("link.deleted", "three", 6, { ...tried, state: "dead" });

async function plant(sql: Sql<Tables>, receiver: Row): Promise<void> {
  const rows: readonly (readonly [keyof Tables, Row])[] = [
    ["projects", { ...project, id: project_id, name: "One", subdomain: "one" }],
    ["webhooks", { ...webhook, ...receiver, project_id, id: webhook_id }],
    // In another order than that in which they came about.
    ...[dead, ...waiting].toReversed().map((row) => ["deliveries", row] as const),
  ];
  await sql.write(async (db) => {
    for (const [table, row] of rows) await db.insertInto(table).values(row).execute();
  });
}

const readAll = ({ db }: Pick<Sql<Tables>, "db">) =>
  db.selectFrom("deliveries").selectAll().orderBy("number").orderBy("part").execute();

test.each([
  ["is there", { failures: 0, rests_until: 0 }],
  ["was away and is back", { failures: 5, rests_until: 1 }],
])("what waited before for a receiver that %s is told in its order", async (_, doing) => {
  await using receiver = await startReceiver();
  await using place = await createPlace(takeEmptyDatabase);
  const sql = await place.open();
  const migrations = storeMigrations[sql.engine];
  await runMigrations(sql, takeUpTo(migrations, 21));
  expect(await isCurrent(sql, migrations)).toBe(false);
  await plant(sql, { url: receiver.url, ...doing });
  const planted = await readAll(sql);
  const store = await openStore(sql, neverRing);
  expect(await store.isCurrent()).toBe(true);
  expect(await readAll(store)).toEqual(planted);

  const { deliverDue, errors } = deliverIn({ store, clock, setAlarm: neverRing });
  await deliverDue();
  const told = receiver.received.map(({ body }): Told => body);
  const wanted = waiting.map(readTold);
  expect(new Set(told.map(({ id }) => id))).toEqual(new Set(wanted.map(({ id }) => id)));
  expect(told).toHaveLength(wanted.length);
  for (const link of ["one", "two"]) {
    const isOwn = ({ about }: Told) => about === link;
    expect(told.filter(isOwn)).toEqual(wanted.filter(isOwn));
  }
  expect(await readAll(store)).toMatchObject([dead]);
  expect(errors).toEqual([]);
  await store.close();
});
