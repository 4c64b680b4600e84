import { randomUUID } from "node:crypto";
import { expressionBuilder, sql } from "kysely";
import type { JsonObject } from "../contract/json.ts";
import type { Link } from "../contract/links.ts";
import type { WebhookEvent } from "../contract/webhook-events.ts";
import type { Sql } from "../sql/sql.ts";
import type { Tally } from "./projects.ts";
import type { Db, DeliveryTable, Tables, Tenant, WebhookTable } from "./tables.ts";

/**
 * Webhooks and the outbox of their events. A change queues its events in its own transaction, so
 * that events are sent of committed changes only, and of all of them. `src/webhooks` sends them.
 */

export type WebhookKey = Pick<WebhookTable, "project_id" | "id">;

/** Without the secret, which only signs messages. */
export type Webhook = Omit<WebhookTable, "secret" | "events" | "next_at" | "failures"> & {
  readonly events: readonly WebhookEvent[];
  /** How many of its events still have to be delivered, and how many were given up. */
  readonly waiting: number;
  readonly dead: number;
};

export type NewWebhook = Pick<Webhook, "id" | "url" | "events"> & { readonly secret: string };

/** Each event adds a row for each webhook to the transaction of the change. */
export const mostWebhooks = 10;

/** False if the project has as many webhooks as it may have. */
export async function insertWebhook(
  tenant: Tenant,
  { events, ...given }: NewWebhook,
  now: number,
): Promise<boolean> {
  if (!(await countWebhook(tenant, 1))) return false;
  const row = { ...given, project_id: tenant.projectId, events: JSON.stringify(events) };
  await tenant.db
    .insertInto("webhooks")
    .values({ ...row, created_at: now, next_at: 0, failures: 0, dropped: 0 })
    .execute();
  return true;
}

async function countWebhook({ db, projectId }: Tenant, added: 1 | -1): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("tallies")
    .set((row) => ({ webhooks: row("webhooks", "+", added) }))
    .where("project_id", "=", projectId)
    .where("webhooks", "<=", mostWebhooks - added)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** The webhooks of one project or of all projects; with an id, only that webhook. */
export async function listWebhooks(
  db: Db,
  { project_id, id }: { readonly project_id?: string | undefined; readonly id?: string } = {},
): Promise<readonly Webhook[]> {
  const rows = await db
    .selectFrom("webhooks")
    .select(["project_id", "id", "url", "events", "created_at", "failing_since", "last_event"])
    .select(["last_at", "last_fault", "dropped", count("waiting"), count("dead")])
    .$if(project_id !== undefined, (all) => all.where("project_id", "=", project_id ?? ""))
    .$if(id !== undefined, (all) => all.where("id", "=", id ?? ""))
    .orderBy("created_at")
    .orderBy("id")
    .execute();
  return rows.map(({ events, ...row }) => ({ ...row, events: readEvents(events) }));
}

function count<State extends DeliveryTable["state"]>(state: State) {
  return sql<number>`(
    select count(*) from deliveries
    where deliveries.project_id = webhooks.project_id and webhook_id = webhooks.id
      and state = ${state}
  )`.as(state);
}

export async function readSecret(db: Db, webhook: WebhookKey): Promise<string | undefined> {
  const found = db.selectFrom("webhooks").select("secret").where(isWebhook(webhook));
  return (await found.executeTakeFirst())?.secret;
}

/** Removes a webhook with its events. */
export async function deleteWebhook({ db, projectId }: Tenant, id: string): Promise<boolean> {
  const webhook = { project_id: projectId, id };
  const deleted = await db.deleteFrom("webhooks").where(isWebhook(webhook)).executeTakeFirst();
  if (deleted.numDeletedRows === 0n) return false;
  await db.deleteFrom("deliveries").where(isFor(webhook)).execute();
  return countWebhook({ db, projectId }, -1);
}

function isWebhook({ project_id, id }: WebhookKey) {
  return expressionBuilder<Tables, "webhooks">().and({ project_id, id });
}

function isFor(
  { project_id, id: webhook_id }: WebhookKey,
  which: Partial<Pick<DeliveryTable, "state" | "event_id">> = {},
) {
  return expressionBuilder<Tables, "deliveries">().and({ project_id, webhook_id, ...which });
}

/** We wrote this column ourselves, as the JSON of events that were checked. */
function readEvents(json: string): readonly WebhookEvent[] {
  return JSON.parse(json) as WebhookEvent[];
}

export type NewEvent = {
  readonly event: WebhookEvent;
  readonly data: JsonObject;
  /** The event's own id, if it has one; an event that is queued twice is sent once. */
  readonly id?: string;
};

/** An SQL statement has a limited number of values. */
const rowsAtOnce = 500;

/** Queues a delivery for each event and each webhook that subscribes to it. */
export async function queueEvents(
  { db, projectId: project_id }: Tenant,
  events: readonly NewEvent[],
  now: number,
): Promise<void> {
  const query = db.selectFrom("webhooks").select(["id", "events"]);
  const webhooks = await query.where("project_id", "=", project_id).execute();
  const timestamp = new Date(now).toISOString();
  const rows = events.flatMap(({ event, data, id: event_id = createEventId() }) => {
    const body = JSON.stringify({ type: event, timestamp, data: { project_id, ...data } });
    // Due at once, also for a process whose clock is behind.
    const row = { project_id, event_id, event, body, created_at: now, next_at: 0, attempts: 0 };
    const subscribed = webhooks.filter((webhook) => readEvents(webhook.events).includes(event));
    return subscribed.map(({ id }) => ({ ...row, webhook_id: id, state: "waiting" as const }));
  });
  for (let start = 0; start < rows.length; start += rowsAtOnce) {
    const insert = db.insertInto("deliveries").values(rows.slice(start, start + rowsAtOnce));
    await insert.onConflict((conflict) => conflict.doNothing()).execute();
  }
}

type LinkChange = {
  readonly event: Extract<WebhookEvent, `link.${"created" | "updated" | "deleted"}`>;
  readonly link: Link;
  /** The link before an update. */
  readonly before?: Link;
};

/** Without a webhook, a write to a link costs nothing here. */
export async function queueLinkEvents(
  tenant: Tenant,
  { webhooks }: Pick<Tally, "webhooks">,
  changes: readonly LinkChange[],
  now: number,
): Promise<void> {
  if (webhooks === 0) return;
  const events = changes.flatMap(({ event, link, before }): readonly NewEvent[] => {
    if (before === undefined) return [{ event, data: { link } }];
    // Clicks have an event of their own.
    const changed = Object.entries(before).filter(([field, value]) => {
      return field !== "clicks" && link[field] !== value;
    });
    const data = { link, previous: Object.fromEntries(changed) };
    return changed.length === 0 ? [] : [{ event, data }];
  });
  await queueEvents(tenant, events, now);
}

type ClickedLink = { readonly linkId: string; readonly clicks: number };

/** The reference promises at most this many links in an event. */
const clickedAtOnce = 500;

export async function queueClickEvents(
  tenant: Tenant,
  { webhooks }: Pick<Tally, "webhooks">,
  counted: readonly ClickedLink[],
  now: number,
): Promise<void> {
  if (webhooks === 0) return;
  const links = counted.flatMap(({ linkId: id, clicks }) => (clicks > 0 ? [{ id, clicks }] : []));
  const events: NewEvent[] = [];
  for (let start = 0; start < links.length; start += clickedAtOnce) {
    const some = links.slice(start, start + clickedAtOnce);
    events.push({ event: "link.clicked", data: { links: some } });
  }
  await queueEvents(tenant, events, now);
}

export function createEventId(): string {
  return `evt_${randomUUID()}`;
}

/** A webhook with due events, and when the oldest of these was created. */
export type DueWebhook = WebhookKey & { readonly since: number };

export async function listDueWebhooks(
  db: Db,
  now: number,
  limit: number,
): Promise<readonly DueWebhook[]> {
  const { rows } = await sql<DueWebhook>`
    select project_id, id, since from (
      select project_id, id, (
        select deliveries.created_at from deliveries
        where deliveries.project_id = webhooks.project_id and webhook_id = webhooks.id
          and state = 'waiting' and deliveries.next_at <= ${now}
        order by deliveries.created_at limit 1
      ) as since
      from webhooks where ${isFree(now)}
    ) as webhook
    where since is not null order by since limit ${limit}
  `.execute(db);
  return rows;
}

/** Longer than an attempt and its two writes, on machines whose clocks differ by seconds. */
const claim_ms = 30_000;

type Receiver = Pick<WebhookTable, "url" | "secret" | "failures" | "failing_since">;
export type Delivery = Pick<DeliveryTable, "event_id" | "event" | "body" | "attempts" | "ends_at">;
export type Claim = { readonly receiver: Receiver; readonly due: readonly Delivery[] };

/** Keeps other processes from sending to this webhook for a while; undefined if one does. */
export async function claimWebhook(
  db: Db,
  webhook: WebhookKey,
  { now, limit }: { readonly now: number; readonly limit: number },
): Promise<Claim | undefined> {
  const { rows } = await sql<Receiver>`
    update webhooks set next_at = ${now + claim_ms} where ${isWebhook(webhook)} and ${isFree(now)}
    returning url, secret, failures, failing_since
  `.execute(db);
  const [receiver] = rows;
  if (receiver === undefined) return undefined;
  const due = await db
    .selectFrom("deliveries")
    .select(["event_id", "event", "body", "attempts", "ends_at"])
    .where(isFor(webhook, { state: "waiting" }))
    .where("next_at", "<=", now)
    .orderBy("created_at")
    .limit(limit)
    .execute();
  return { receiver, due };
}

function isFree(now: number) {
  return sql`next_at <= ${now} and exists (
    select 1 from projects where projects.id = webhooks.project_id and suspended = 0
  )`;
}

/** The end of an attempt: what changes in the row of an event that did not arrive. */
export type Attempt = Pick<Delivery, "event_id" | "event"> & {
  readonly failed?: Partial<DeliveryTable>;
};

/** Removes the events that arrived, updates the others, and frees the webhook. */
export async function noteAttempts(
  db: Db,
  webhook: WebhookKey,
  attempts: readonly Attempt[],
  receiver: Partial<WebhookTable>,
): Promise<void> {
  for (const { event_id, failed } of attempts) {
    const which = isFor(webhook, { event_id });
    if (failed === undefined) await db.deleteFrom("deliveries").where(which).execute();
    else await db.updateTable("deliveries").set(failed).where(which).execute();
  }
  await db.updateTable("webhooks").set(receiver).where(isWebhook(webhook)).execute();
}

/** The events of a webhook that were given up, the latest first. */
export async function listDead(db: Db, webhook: WebhookKey, limit: number) {
  return db
    .selectFrom("deliveries")
    .select(["event_id", "event", "attempts", "created_at", "fault", "next_at as given_up_at"])
    .where(isFor(webhook, { state: "dead" }))
    .orderBy("next_at", "desc")
    .orderBy("event_id", "desc")
    .limit(limit)
    .execute();
}

/** Queues events again that were given up, one or all of them; returns how many. */
export async function sendAgain(
  db: Db,
  webhook: WebhookKey,
  eventId: string | undefined,
  now: number,
): Promise<number> {
  const which = { state: "dead", ...(eventId !== undefined && { event_id: eventId }) } as const;
  const { numUpdatedRows } = await db
    .updateTable("deliveries")
    .set({ state: "waiting", attempts: 0, next_at: now, ends_at: null })
    .where(isFor(webhook, which))
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/** A receiver that is down, or a stranger with a client key, must not fill the disk. */
const mostBytes = 20_000_000;
const keptDead_ms = 7 * 24 * 60 * 60 * 1000;

/**
 * Removes events that were given up long ago, and the oldest events of a project that has too many
 * of them: clicks first, because links show their number all the same.
 */
export async function tidyOutboxes(
  { write }: Pick<Sql<Tables>, "write">,
  now: number,
): Promise<void> {
  await write((db) => tidyAll(db, now), { isPatient: true });
}

async function tidyAll(db: Db, now: number): Promise<void> {
  const dead = db.deleteFrom("deliveries").where("state", "=", "dead");
  await dead.where("next_at", "<=", now - keptDead_ms).execute();
  const { rows } = await sql<{ readonly webhook_id: string }>`
    delete from deliveries where (project_id, webhook_id, event_id) in (
      select project_id, webhook_id, event_id from (
        select project_id, webhook_id, event_id, sum(octet_length(body)) over (
          partition by project_id
          order by case event when 'link.clicked' then 1 else 0 end, created_at desc, event_id
        ) as bytes from deliveries where project_id in (
          select project_id from deliveries
          group by project_id having sum(octet_length(body)) > ${mostBytes}
        )
      ) as outbox where bytes > ${mostBytes}
    ) returning webhook_id
  `.execute(db);
  const ids = rows.map(({ webhook_id }) => webhook_id);
  for (const id of new Set(ids)) {
    const dropped = ids.filter((each) => each === id).length;
    const update = db.updateTable("webhooks").where("id", "=", id);
    await update.set((row) => ({ dropped: row("dropped", "+", dropped) })).execute();
  }
}
