import { sql } from "kysely";
import type { WebhookEvent } from "../contract/webhook-events.ts";
import type { Db, DeliveryTable, Tenant, WebhookTable } from "./tables.ts";

/** The webhooks of projects, with the state of their receivers. */

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
  which: { readonly project_id?: string | undefined; readonly id?: string } = {},
): Promise<readonly Webhook[]> {
  const { project_id, id } = which;
  let query = db
    .selectFrom("webhooks")
    .select(["project_id", "id", "url", "events", "created_at", "failing_since", "last_event"])
    .select(["last_at", "last_fault", "dropped", count("waiting"), count("dead")])
    .orderBy("created_at")
    .orderBy("id");
  if (project_id !== undefined) query = query.where("project_id", "=", project_id);
  if (id !== undefined) query = query.where("id", "=", id);
  const rows = await query.execute();
  return rows.map(({ events, ...row }) => ({ ...row, events: readEvents(events) }));
}

function count<State extends DeliveryTable["state"]>(state: State) {
  return sql<number>`(
    select count(*) from deliveries
    where deliveries.project_id = webhooks.project_id and webhook_id = webhooks.id
      and state = ${state}
  )`.as(state);
}

export async function readSecret(db: Db, { project_id, id }: WebhookKey) {
  const ofProject = db.selectFrom("webhooks").select("secret").where("project_id", "=", project_id);
  return (await ofProject.where("id", "=", id).executeTakeFirst())?.secret;
}

/** Removes a webhook with its events. */
export async function deleteWebhook({ db, projectId }: Tenant, id: string): Promise<boolean> {
  const webhook = db.deleteFrom("webhooks").where("project_id", "=", projectId);
  const { numDeletedRows } = await webhook.where("id", "=", id).executeTakeFirst();
  if (numDeletedRows === 0n) return false;
  const deliveries = db.deleteFrom("deliveries").where("project_id", "=", projectId);
  await deliveries.where("webhook_id", "=", id).execute();
  return countWebhook({ db, projectId }, -1);
}

/** We wrote this column ourselves, as the JSON of events that were checked. */
export function readEvents(json: string): readonly WebhookEvent[] {
  return JSON.parse(json) as WebhookEvent[];
}
