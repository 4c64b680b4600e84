import { createHash } from "node:crypto";
import type { JsonObject } from "../contract/json.ts";
import type { WebhookEvent } from "../contract/webhook-events.ts";
import { untried_at } from "./deliveries.ts";
import { limitOutbox } from "./outbox-size.ts";
import { readTally, tallyEvent, type Tally } from "./project-tallies.ts";
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
  /** Of what was told elsewhere before; left out, it follows from its place. */
  readonly id?: string;
};

/** Tells of what is no write to a link, and costs one read where the project has no webhook. */
export async function tellOf(tenant: Tenant, told: readonly Told[], now: number): Promise<void> {
  if (told.length === 0 || !(await hasWebhooks(tenant))) return;
  const tally = await tallyEvent(tenant);
  // The project may have been deleted meanwhile.
  if (tally !== undefined) await queueEvents(tenant, tally, told, now);
}

export async function hasWebhooks(tenant: Tenant): Promise<boolean> {
  return ((await readTally(tenant)).webhooks ?? 0) > 0;
}

/** A statement has room for so many values. */
const rowsAtOnce = 500;

/**
 * Queues what a project's webhooks are to be told. The tally is that of the write itself: while its
 * row is locked, no other write of the project is numbered, so that numbers are in the order in
 * which transactions end, on however many processes.
 */
export async function queueEvents(
  { db, projectId }: Tenant,
  tally: Pick<Tally, "generation" | "clicked">,
  told: readonly Told[],
  now: number,
): Promise<void> {
  const query = db.selectFrom("webhooks").select(["id", "events"]);
  const webhooks = await query.where("project_id", "=", projectId).execute();
  const number = tally.generation + tally.clicked;
  const timestamp = new Date(now).toISOString();
  const rows = told.flatMap(({ event, data, id }, part) => {
    const wanting = webhooks.filter(({ events }) => readEvents(events).includes(event));
    const event_id = id ?? nameEvent(projectId, number, part, now);
    const body = JSON.stringify({ type: event, timestamp, data });
    const row = { event_id, number, event, body, ...beginning };
    return wanting.map(({ id: webhook_id }) => {
      return { ...row, project_id: projectId, webhook_id, created_at: now };
    });
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

/** The time is in it as well: a store that was restored counts from an earlier number on. */
export function nameEvent(...place: readonly (string | number)[]): string {
  const digest = createHash("sha256").update(JSON.stringify(place)).digest("base64url");
  return `evt_${digest.slice(0, 27)}`;
}
