import { randomUUID } from "node:crypto";
import { expressionBuilder, sql } from "kysely";
import type { JsonObject } from "../contract/json.ts";
import { limits } from "../contract/limits.ts";
import type { WebhookEvent } from "../contract/webhook-events.ts";
import type { Sql } from "../sql/sql.ts";
import type { Tally } from "./projects.ts";
import type { Db, DeliveryTable, Tables, Tenant, WebhookTable } from "./tables.ts";

/**
 * Stores webhooks and the outbox of their events. Events are queued in the transaction of the
 * change, so that only committed changes are sent. The code in `src/webhooks` sends them.
 */

export type WebhookKey = Pick<WebhookTable, "project_id" | "id">;

export type Webhook = Omit<WebhookTable, "secret" | "events" | "next_at" | "failures"> & {
  readonly events: readonly WebhookEvent[];
  /** How many of the webhook's events are waiting, and how many failed permanently. */
  readonly waiting: number;
  readonly dead: number;
};

/** Adds a webhook. Returns false if the project already has the maximum number of webhooks. */
export async function insertWebhook(
  tenant: Tenant,
  webhook: Pick<Webhook, "id" | "url" | "events"> & Pick<WebhookTable, "secret">,
  now: number,
): Promise<boolean> {
  if (!(await countWebhook(tenant, 1))) return false;
  const events = JSON.stringify(webhook.events);
  const start = { created_at: now, next_at: 0, failures: 0, dropped: 0 };
  const row = { ...webhook, ...start, events, project_id: tenant.projectId };
  await tenant.db.insertInto("webhooks").values(row).execute();
  return true;
}

async function countWebhook({ db, projectId }: Tenant, added: 1 | -1): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("tallies")
    .set((row) => ({ webhooks: row("webhooks", "+", added) }))
    .where("project_id", "=", projectId)
    .where("webhooks", "<=", limits.webhooks_of_project - added)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Lists the webhooks of one or all projects, or only the one with the given id. */
export async function listWebhooks(db: Db, which: Partial<WebhookKey> = {}) {
  const rows = await db
    .selectFrom("webhooks")
    .select(["project_id", "id", "url", "events", "created_at", "failing_since", "dropped"])
    .select(["last_event", "last_at", "last_fault"])
    .select([countOwn("waiting").as("waiting"), countOwn("dead").as("dead")])
    .where((row) => row.and(which))
    .orderBy("created_at")
    .orderBy("id")
    .execute();
  // The cast is safe, because only this store writes the column.
  return rows.map((row): Webhook => {
    return { ...row, events: JSON.parse(row.events) as readonly WebhookEvent[] };
  });
}

const isOwn = sql`deliveries.project_id = webhooks.project_id and webhook_id = webhooks.id`;

function countOwn(state: DeliveryTable["state"]) {
  return sql<number>`(select count(*) from deliveries where ${isOwn} and state = ${state})`;
}

export async function readSecret(db: Db, webhook: WebhookKey): Promise<string | undefined> {
  const found = db.selectFrom("webhooks").select("secret").where(isWebhook(webhook));
  return (await found.executeTakeFirst())?.secret;
}

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

function isFor({ project_id, id: webhook_id }: WebhookKey, which: Partial<DeliveryTable> = {}) {
  return expressionBuilder<Tables, "deliveries">().and({ project_id, webhook_id, ...which });
}

export type NewEvent = {
  readonly event: WebhookEvent;
  readonly data: JsonObject;
  /** An id chosen by the caller. Events with the same id are sent only once. */
  readonly id?: string;
};

/** Queues each event for all subscribed webhooks. Runs no query if `tally` counts no webhooks. */
export async function queueEvents(
  { db, projectId: project_id }: Tenant,
  events: readonly NewEvent[],
  now: number,
  tally?: Pick<Tally, "webhooks">,
): Promise<void> {
  if (tally?.webhooks === 0 || events.length === 0) return;
  const query = db.selectFrom("webhooks").select(["id", "events"]);
  const webhooks = await query.where("project_id", "=", project_id).execute();
  const timestamp = new Date(now).toISOString();
  const rows = events.map(({ event, data, id: event_id = createEventId() }) => {
    const body = JSON.stringify({ type: event, timestamp, data: { project_id, ...data } });
    // Zero makes the event due at once, even for a process whose clock is behind.
    const start = { state: "waiting", created_at: now, next_at: 0, attempts: 0 } as const;
    return { ...start, project_id, event_id, event, body };
  });
  for (const { id: webhook_id, events: subscribed } of webhooks) {
    const own = rows.filter(({ event }) => subscribed.includes(`"${event}"`));
    if (own.length === 0) continue;
    const insert = db.insertInto("deliveries").values(own.map((row) => ({ ...row, webhook_id })));
    await insert.onConflict((conflict) => conflict.doNothing()).execute();
  }
}

export function createEventId(): string {
  return `evt_${randomUUID()}`;
}

/** Lists the webhooks with due events, and when each webhook's oldest due event was created. */
export async function listDueWebhooks(db: Db, now: number, limit: number) {
  const { rows } = await sql<WebhookKey & { readonly since: number }>`
    select project_id, id, since from (
      select project_id, id, (
        select deliveries.created_at from deliveries
        where ${isOwn} and state = 'waiting' and deliveries.next_at <= ${now}
        order by deliveries.created_at limit 1
      ) as since
      from webhooks where ${isFree(now)}
    ) as webhook
    where since is not null order by since limit ${limit}
  `.execute(db);
  return rows;
}

/** A claim outlasts an attempt and its writes, even if processes' clocks differ by seconds. */
const claim_ms = 30_000;

/**
 * Claims a webhook and returns its oldest due events. Until the claim ends, no other process sends
 * to the webhook. Returns undefined if the webhook is deleted, paused or already claimed, or if its
 * project is suspended.
 */
export async function claimWebhook(db: Db, key: WebhookKey, now: number, limit: number) {
  const change = { next_at: now + claim_ms };
  const update = db.updateTable("webhooks").set(change).where(isWebhook(key));
  const webhook = await update.where(isFree(now)).returningAll().executeTakeFirst();
  if (webhook === undefined) return undefined;
  const waiting = isFor(key, { state: "waiting" });
  const query = db.selectFrom("deliveries").selectAll().where(waiting).where("next_at", "<=", now);
  return { webhook, due: await query.orderBy("created_at").limit(limit).execute() };
}

function isFree(now: number) {
  return sql<boolean>`next_at <= ${now} and exists (
    select 1 from projects where projects.id = webhooks.project_id and suspended = 0
  )`;
}

/** A webhook is paused after this many consecutive failures. */
const restsAfter = 10;
const rest_ms = 60_000;

/**
 * Saves the attempts for a claimed webhook, and deletes delivered events. Releases the claim,
 * unless the webhook must be paused.
 */
export async function saveAttempts(
  db: Db,
  claimed: WebhookTable,
  attempts: readonly DeliveryTable[],
  now: number,
): Promise<void> {
  let { failures, failing_since, last_event, last_at, last_fault } = claimed;
  for (const attempt of attempts) {
    const { event_id, event, fault } = attempt;
    const which = isFor(claimed, { event_id });
    if (fault === null) await db.deleteFrom("deliveries").where(which).execute();
    else await db.updateTable("deliveries").set(attempt).where(which).execute();
    failures = fault === null ? 0 : failures + 1;
    failing_since = fault === null ? null : (failing_since ?? now);
    [last_event, last_at, last_fault] = [event, now, fault];
  }
  const next_at = failures >= restsAfter ? now + rest_ms : 0;
  const change = { failures, failing_since, last_event, last_at, last_fault, next_at };
  const update = db.updateTable("webhooks").set(change).where(isWebhook(claimed));
  await update.where("next_at", "=", claimed.next_at).execute();
}

/** Lists a webhook's permanently failed events, most recent first. */
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

/** Queues one or all permanently failed events again. Returns the number of queued events. */
export async function sendAgain(
  db: Db,
  webhook: WebhookKey,
  eventId: string | undefined,
  now: number,
): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable("deliveries")
    .set({ state: "waiting", attempts: 0, next_at: now, ends_at: null })
    .where(isFor(webhook, { state: "dead" }))
    .$if(eventId !== undefined, (all) => all.where("event_id", "=", eventId ?? ""))
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/** Limits each project's outbox, because anyone with a client key can cause events. */
const mostBytes = 20_000_000;
const keptDead_ms = 7 * 24 * 60 * 60 * 1000;

/**
 * Deletes old permanently failed events, and the oldest events of projects whose outbox is too
 * large. Click events are deleted first, because the clicks are also counted on the links.
 */
export async function tidyOutboxes({ write }: Pick<Sql<Tables>, "write">, now: number) {
  const tidy = async (db: Db) => {
    const dead = db.deleteFrom("deliveries").where("state", "=", "dead");
    await dead.where("next_at", "<=", now - keptDead_ms).execute();
    const { rows } = await sql<Pick<DeliveryTable, "webhook_id">>`
      delete from deliveries where (project_id, webhook_id, event_id) in (
        select project_id, webhook_id, event_id from (
          select project_id, webhook_id, event_id, sum(octet_length(body)) over (
            partition by project_id
            order by case event when 'link.clicked' then 1 else 0 end, created_at desc, event_id
          ) as bytes from deliveries
        ) as outbox where bytes > ${mostBytes}
      ) returning webhook_id
    `.execute(db);
    for (const id of new Set(rows.map(({ webhook_id }) => webhook_id))) {
      const added = rows.filter(({ webhook_id }) => webhook_id === id).length;
      const update = db.updateTable("webhooks").where("id", "=", id);
      await update.set((row) => ({ dropped: row("dropped", "+", added) })).execute();
    }
  };
  await write(tidy, { isPatient: true });
}
