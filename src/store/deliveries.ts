import { randomUUID } from "node:crypto";
import { expressionBuilder, sql } from "kysely";
import type { JsonObject } from "../contract/json.ts";
import type { WebhookEvent } from "../contract/webhook-events.ts";
import type { Sql } from "../sql/sql.ts";
import type { Db, DeliveryTable, Tables, Tenant, WebhookTable } from "./tables.ts";
import { readEvents, type WebhookKey } from "./webhooks.ts";

/**
 * The outbox of events. A change queues its events in its own transaction, so that events are sent
 * of committed changes only, and of all of them. `src/webhooks` sends them.
 */

/** A receiver that is down, or a stranger with a client key, must not fill the disk. */
const mostBytes = 20_000_000;
/** A full outbox is emptied to this size, so that the next events need not drop others. */
const keptBytes = 18_000_000;
const keptDead_ms = 7 * 24 * 60 * 60 * 1000;
/** Longer than an attempt and its two writes, on machines whose clocks differ by seconds. */
const claim_ms = 30_000;
/** An SQL statement has a limited number of values. */
const rowsAtOnce = 500;

export type NewEvent = {
  readonly event: WebhookEvent;
  readonly data: JsonObject;
  /** The event's own id, if it has one; an event that is queued twice is sent once. */
  readonly id?: string;
};

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
    const body = JSON.stringify({ type: event, timestamp, data });
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

export type Receiver = Pick<WebhookTable, "url" | "secret" | "failures" | "failing_since">;

/** Keeps other processes from sending to this webhook for a while; undefined if one does. */
export async function claimWebhook(
  db: Db,
  { project_id, id }: WebhookKey,
  now: number,
): Promise<Receiver | undefined> {
  const { rows } = await sql<Receiver>`
    update webhooks set next_at = ${now + claim_ms}
    where project_id = ${project_id} and id = ${id} and ${isFree(now)}
    returning url, secret, failures, failing_since
  `.execute(db);
  return rows[0];
}

function isFree(now: number) {
  return sql`next_at <= ${now} and exists (
    select 1 from projects where projects.id = webhooks.project_id and suspended = 0
  )`;
}

export type Delivery = Pick<DeliveryTable, "event_id" | "event" | "body" | "attempts" | "ends_at">;

export async function listDueDeliveries(
  db: Db,
  webhook: WebhookKey,
  now: number,
  limit: number,
): Promise<readonly Delivery[]> {
  return db
    .selectFrom("deliveries")
    .select(["event_id", "event", "body", "attempts", "ends_at"])
    .where(isFor(webhook, { state: "waiting" }))
    .where("next_at", "<=", now)
    .orderBy("created_at")
    .limit(limit)
    .execute();
}

/** The end of an attempt: what changes in the row of an event that did not arrive. */
export type Attempt = Pick<DeliveryTable, "event_id"> & {
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
  const update = db.updateTable("webhooks").set(receiver).where("id", "=", webhook.id);
  await update.where("project_id", "=", webhook.project_id).execute();
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
  const fresh = { state: "waiting", attempts: 0, next_at: now, ends_at: null } as const;
  const which = { state: "dead", ...(eventId !== undefined && { event_id: eventId }) } as const;
  const update = db.updateTable("deliveries").set(fresh).where(isFor(webhook, which));
  return Number((await update.executeTakeFirst()).numUpdatedRows);
}

function isFor(
  { project_id, id: webhook_id }: WebhookKey,
  which: Partial<Pick<DeliveryTable, "state" | "event_id">>,
) {
  return expressionBuilder<Tables, "deliveries">().and({ project_id, webhook_id, ...which });
}

/** Removes events that were given up long ago, and what exceeds the bound of a project. */
export async function tidyOutboxes(
  { db, write }: Pick<Sql<Tables>, "db" | "write">,
  now: number,
): Promise<void> {
  const patient = { isPatient: true };
  await write((own) => {
    const dead = own.deleteFrom("deliveries").where("state", "=", "dead");
    return dead.where("next_at", "<=", now - keptDead_ms).execute();
  }, patient);
  const { rows } = await sql<{ project_id: string; count: number; bytes: number }>`
    select project_id, count(*) as count, sum(octet_length(body)) as bytes from deliveries
    group by project_id having sum(octet_length(body)) > ${mostBytes}
  `.execute(db);
  for (const { project_id, count, bytes } of rows) {
    const excess = Math.ceil(count * (1 - keptBytes / bytes));
    await write((own) => dropOldest({ db: own, projectId: project_id }, excess), patient);
  }
}

/** Clicks first: links show their number all the same. */
async function dropOldest({ db, projectId }: Tenant, count: number): Promise<void> {
  const { rows } = await sql<{ readonly webhook_id: string }>`
    delete from deliveries where project_id = ${projectId} and (webhook_id, event_id) in (
      select webhook_id, event_id from deliveries where project_id = ${projectId}
      order by case event when 'link.clicked' then 0 else 1 end, created_at limit ${count}
    ) returning webhook_id
  `.execute(db);
  const ids = rows.map(({ webhook_id }) => webhook_id);
  for (const id of new Set(ids)) {
    const dropped = ids.filter((each) => each === id).length;
    await db
      .updateTable("webhooks")
      .set((row) => ({ dropped: row("dropped", "+", dropped) }))
      .where("project_id", "=", projectId)
      .where("id", "=", id)
      .execute();
  }
}
