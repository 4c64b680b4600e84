import { sql } from "kysely";
import { askedWithin_ms, givenUpAfter_ms } from "./delivery-days.ts";
import type { DeliveryTable, WebhookTable } from "./tables.ts";
import type { Db } from "./tenant.ts";
import { isFor, updateWebhook, type OwnWebhook } from "./webhooks.ts";

/** What webhooks are still to be told: what is due, and what came of it. */

/** Where an event is among its webhook's; what tells of very many links has several parts. */
export type Place = Pick<DeliveryTable, "number" | "part">;

export type Delivery = Place &
  Pick<
    DeliveryTable,
    "event_id" | "event" | "subject" | "body" | "attempts" | "created_at" | "ends_at"
  >;

export const deliveryColumns = [
  "event_id",
  "number",
  "part",
  "event",
  "subject",
  "body",
  "attempts",
  "created_at",
  "ends_at",
] as const satisfies readonly (keyof Delivery)[];

/** The time of what was not tried yet: it is due at once, by whichever clock. */
export const untried_at = 0;

/** Those of a webhook that are due, in the order in which they came about. */
export async function listDueDeliveries(
  db: Db,
  webhook: OwnWebhook,
  now: number,
  limit: number,
): Promise<readonly Delivery[]> {
  const due = selectSome(db, webhook, limit).where("next_at", "<=", now);
  return due.orderBy("number").orderBy("part").execute();
}

/** Until when something waits, and whether on its own account. */
type Hold = Pick<DeliveryTable, "next_at" | "refused">;

export type Held = Hold & {
  /** The first that is not due: what comes before it, as what is sent again does, is not held. */
  readonly from: Place;
};

/** Of these subjects those of which something is not due yet, and until when the first such is. */
export async function listHeld(
  db: Db,
  webhook: OwnWebhook,
  subjects: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, Held>> {
  const ahead = selectWaiting(db, webhook)
    .select(["subject", "number", "part", "next_at", "refused", placeInSubject])
    .where("next_at", ">", now)
    .where("subject", "in", subjects);
  const first = db.selectFrom(ahead.as("ahead")).where("place", "=", 1);
  const rows = await first.select(["subject", "number", "part", "next_at", "refused"]).execute();
  return new Map(
    rows.map(({ subject, number, part, ...hold }) => [
      subject,
      { ...hold, from: { number, part } },
    ]),
  );
}

export function isBefore(one: Place, other: Place): boolean {
  return one.number < other.number || (one.number === other.number && one.part < other.part);
}

/** Of a row among those that are read with it about its subject: the first of these has one. */
export const placeInSubject = sql<number | string>`
  row_number() over (partition by subject order by number, part)
`.as("place");

/** In one transaction: a day of clicks is a row of tens of thousands about one subject. */
const movedAtOnce = 1000;

/**
 * Has some of what is due about a subject wait for the first of it that is not, each for a day of
 * its own; true when that is all.
 */
export async function holdBack(
  db: Db,
  webhook: OwnWebhook,
  subject: string,
  { from, ...hold }: Held,
): Promise<boolean> {
  const some = selectWaiting(db, webhook)
    .select("event_id")
    .where("next_at", "<", hold.next_at)
    .where(sql<boolean>`(number, part) >= (${from.number}, ${from.part})`)
    .where("subject", "=", subject)
    .limit(movedAtOnce);
  const held = db.updateTable("deliveries").set(hold).where(isFor(webhook));
  const { numUpdatedRows } = await held.where("event_id", "in", some).executeTakeFirst();
  return numUpdatedRows < BigInt(movedAtOnce);
}

/**
 * Has some of what waits for a receiver that is back due, and of what waits behind the event by
 * which that was noticed, which may have been asked for before its time; true when that is all.
 */
export async function letGo(
  db: Db,
  webhook: OwnWebhook,
  { subject }: Pick<Delivery, "subject">,
  now: number,
): Promise<boolean> {
  const some = selectWaiting(db, webhook)
    .select("event_id")
    .where("next_at", ">", now)
    .where((row) => row.or([row("refused", "=", 0), row("subject", "=", subject)]))
    .limit(movedAtOnce);
  const due = db.updateTable("deliveries").set({ next_at: now }).where(isFor(webhook));
  const { numUpdatedRows } = await due.where("event_id", "in", some).executeTakeFirst();
  return numUpdatedRows < BigInt(movedAtOnce);
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

export type Failed = Hold & {
  /** When it is given up. */
  readonly ends_at: number;
  readonly delivery: Pick<Delivery, "event_id" | "event">;
  readonly fault: string;
  readonly isDead: boolean;
  /** The receiver is left alone until then. */
  readonly rests_until: number;
  readonly now: number;
};

/** What comes after it about the same is held back when its turn would be (`listHeld`). */
export async function noteFailed(db: Db, webhook: OwnWebhook, failed: Failed): Promise<void> {
  const { delivery, fault, isDead, next_at, refused, ends_at, rests_until, now } = failed;
  const { event_id, event } = delivery;
  await db
    .updateTable("deliveries")
    .set(({ eb }) => ({
      attempts: eb("attempts", "+", 1),
      ends_at,
      fault,
      ...(isDead ? asDead(now) : { next_at, refused }),
    }))
    .where(isFor(webhook))
    .where("event_id", "=", event_id)
    .execute();
  await updateWebhook(db, webhook)
    .set((row) => ({
      failures: row("failures", "+", 1),
      failing_since: row
        .case()
        .when("last_at", "<=", now - askedWithin_ms)
        .then(now)
        .else(row.fn.coalesce("failing_since", row.val(now)))
        .end(),
    }))
    .execute();
  await noteLast(db, webhook, {
    rests_until,
    last_event: event,
    last_at: now,
    last_fault: fault,
  });
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
  const fresh = { state: "waiting", attempts: 0, next_at: now, ends_at } as const;
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

/** Since when the first of those waits that were due by then; of a suspended project none is. */
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

export function selectSome(db: Db, webhook: OwnWebhook, limit: number) {
  return selectWaiting(db, webhook).select(deliveryColumns).limit(limit);
}

export function selectWaiting(db: Db, webhook: OwnWebhook) {
  return db.selectFrom("deliveries").where(isFor(webhook)).where("state", "=", "waiting");
}
