import type { DeliveryTable, WebhookTable } from "./tables.ts";
import type { Db } from "./tenant.ts";
import { isFor, updateWebhook, type OwnWebhook } from "./webhooks.ts";

/** What webhooks are still to be told: what is due, and what came of it. */

export type Delivery = Pick<DeliveryTable, "event_id" | "event" | "body" | "attempts" | "ends_at">;

/** After its first failed attempt, or since somebody had it sent again. */
export const givenUpAfter_ms = 24 * 60 * 60 * 1000;

/** The time of what was not tried yet: it is due at once, by whichever clock. */
export const untried_at = 0;

/** Those of a webhook that are due, the oldest first. */
export async function listDueDeliveries(
  db: Db,
  webhook: OwnWebhook,
  now: number,
  limit: number,
): Promise<readonly Delivery[]> {
  return selectWaiting(db, webhook)
    .select(["event_id", "event", "body", "attempts", "ends_at"])
    .where("next_at", "<=", now)
    .orderBy("created_at")
    .limit(limit)
    .execute();
}

/** It has arrived, and is gone. */
export async function noteDelivered(
  db: Db,
  webhook: OwnWebhook,
  { event_id, event }: Pick<Delivery, "event_id" | "event">,
  now: number,
): Promise<void> {
  const done = db.deleteFrom("deliveries").where(isFor(webhook));
  await done.where("event_id", "=", event_id).execute();
  const well = { failures: 0, failing_since: null, rests_until: 0 };
  await noteLast(db, webhook, { ...well, last_event: event, last_at: now, last_fault: null });
}

export type Failed = Pick<DeliveryTable, "next_at"> & {
  /** When it is given up. */
  readonly ends_at: number;
  readonly delivery: Pick<Delivery, "event_id" | "event">;
  readonly fault: string;
  readonly isDead: boolean;
  /** After how many failures in a row the receiver rests, and until when. */
  readonly rest: { readonly from: number; readonly until: number };
  readonly now: number;
};

/** Answers how often the receiver has failed in a row. */
export async function noteFailed(db: Db, webhook: OwnWebhook, failed: Failed): Promise<number> {
  const { delivery, fault, isDead, next_at, ends_at, rest, now } = failed;
  const { event_id, event } = delivery;
  await db
    .updateTable("deliveries")
    .set(({ eb }) => ({
      attempts: eb("attempts", "+", 1),
      ends_at,
      fault,
      ...(isDead ? asDead(now) : { next_at }),
    }))
    .where(isFor(webhook))
    .where("event_id", "=", event_id)
    .execute();
  const updated = await updateWebhook(db, webhook)
    .set((row) => ({
      failures: row("failures", "+", 1),
      failing_since: row.fn.coalesce("failing_since", row.val(now)),
    }))
    .returning("failures")
    .executeTakeFirst();
  const failures = updated?.failures ?? 0;
  await noteLast(db, webhook, {
    ...(failures >= rest.from && { rests_until: rest.until }),
    last_event: event,
    last_at: now,
    last_fault: fault,
  });
  return failures;
}

/** Of one that is given up its time is that of its end. */
function asDead(now: number) {
  return { state: "dead", next_at: now } as const;
}

type Last = Partial<Omit<WebhookTable, keyof OwnWebhook>>;

async function noteLast(db: Db, webhook: OwnWebhook, last: Last): Promise<void> {
  await updateWebhook(db, webhook).set(last).execute();
}

export type DeadDelivery = Pick<DeliveryTable, "event_id" | "event" | "attempts" | "created_at"> & {
  readonly fault: string | null;
  readonly given_up_at: number;
};

/** Those of a webhook that were given up, the latest first. */
export async function listDead(
  db: Db,
  webhook: OwnWebhook,
  limit: number,
): Promise<readonly DeadDelivery[]> {
  return db
    .selectFrom("deliveries")
    .select(["event_id", "event", "attempts", "created_at", "fault", "next_at as given_up_at"])
    .where(isFor(webhook))
    .where("state", "=", "dead")
    .orderBy("next_at", "desc")
    .orderBy("event_id", "desc")
    .limit(limit)
    .execute();
}

/** Has what was given up tried anew, one or all of them; answers how many. */
export async function sendAgain(
  db: Db,
  webhook: OwnWebhook,
  eventId: string | undefined,
  now: number,
): Promise<number> {
  const ends_at = now + givenUpAfter_ms;
  const fresh = { state: "waiting", attempts: 0, next_at: untried_at, ends_at } as const;
  let which = db.updateTable("deliveries").set(fresh).where(isFor(webhook));
  if (eventId !== undefined) which = which.where("event_id", "=", eventId);
  const { numUpdatedRows } = await which.where("state", "=", "dead").executeTakeFirst();
  if (numUpdatedRows > 0n) await noteLast(db, webhook, { rests_until: 0 });
  return Number(numUpdatedRows);
}

/** How many events of all projects wait for receivers, were given up, or were dropped. */
export async function countDeliveries(
  db: Db,
): Promise<Readonly<Record<"waiting" | "given_up" | "dropped", number>>> {
  const rows = await db
    .selectFrom("deliveries")
    .select(({ fn }) => ["state", fn.countAll<number | string>().as("count")])
    .groupBy("state")
    .execute();
  const lost = await db
    .selectFrom("webhooks")
    .select(({ fn }) => fn.sum<number | string | null>("dropped").as("dropped"))
    .executeTakeFirst();
  const counts = new Map(rows.map(({ state, count }) => [state, Number(count)]));
  return {
    waiting: counts.get("waiting") ?? 0,
    given_up: counts.get("dead") ?? 0,
    dropped: Number(lost?.dropped ?? 0),
  };
}

/** When the oldest event that was due by then was created; none of a suspended project is due. */
export async function findOverdue(
  db: Db,
  webhook: OwnWebhook,
  by: number,
): Promise<number | undefined> {
  const row = await selectWaiting(db, webhook)
    .innerJoin("projects", "projects.id", "deliveries.project_id")
    .select(({ fn }) => fn.min("deliveries.created_at").as("since"))
    .where("next_at", "<=", by)
    .where("deliveries.created_at", "<=", by)
    .where("projects.suspended", "=", 0)
    .executeTakeFirst();
  return row?.since ?? undefined;
}

function selectWaiting(db: Db, webhook: OwnWebhook) {
  return db.selectFrom("deliveries").where(isFor(webhook)).where("state", "=", "waiting");
}
