import { randomUUID } from "node:crypto";
import type { JsonObject } from "../contract/json.ts";
import type { WebhookEvent } from "../contract/webhook-events.ts";
import { untried_at } from "./deliveries.ts";
import { limitOutbox } from "./outbox-size.ts";
import { readTally } from "./project-tallies.ts";
import type { DeliveryTable } from "./tables.ts";
import type { Tenant } from "./tenant.ts";
import { readEvents } from "./webhooks.ts";

/**
 * Events, written down in the transaction of what they tell of: whatever was changed is told, and
 * nothing else. `src/webhooks` delivers them.
 */

export type Told = {
  readonly event: WebhookEvent;
  readonly data: JsonObject;
  /** Set for an event that already has an id. */
  readonly id?: string;
};

/** Queues events that are not writes to a link. Without a webhook this costs one read. */
export async function tellOf(tenant: Tenant, told: readonly Told[], now: number): Promise<void> {
  if (await hasWebhooks(tenant)) await queueEvents(tenant, told, now);
}

export async function hasWebhooks(tenant: Tenant): Promise<boolean> {
  return (await readTally(tenant)).webhooks > 0;
}

/** A statement has room for so many values. */
const rowsAtOnce = 500;

/** Queues one delivery for each event and each webhook that wants it. */
export async function queueEvents(
  { db, projectId }: Tenant,
  told: readonly Told[],
  now: number,
): Promise<void> {
  const query = db.selectFrom("webhooks").select(["id", "events"]);
  const webhooks = await query.where("project_id", "=", projectId).execute();
  const timestamp = new Date(now).toISOString();
  const rows = told.flatMap(({ event, data, id }) => {
    const wanting = webhooks.filter(({ events }) => readEvents(events).includes(event));
    const event_id = id ?? nameEvent();
    const body = JSON.stringify({ type: event, timestamp, data });
    const row = { project_id: projectId, event_id, event, body, created_at: now, ...beginning };
    return wanting.map(({ id: webhook_id }) => ({ ...row, webhook_id }));
  });
  for (let start = 0; start < rows.length; start += rowsAtOnce) {
    const insert = db.insertInto("deliveries").values(rows.slice(start, start + rowsAtOnce));
    // One that was told elsewhere before may be here already.
    await insert.onConflict((conflict) => conflict.doNothing()).execute();
  }
  if (rows.length === 0) return;
  const added = rows.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
  await limitOutbox({ db, projectId }, added);
}

const beginning = {
  state: "waiting",
  attempts: 0,
  next_at: untried_at,
  ends_at: null,
  fault: null,
} as const satisfies Partial<DeliveryTable>;

export function nameEvent(): string {
  return `evt_${randomUUID()}`;
}
