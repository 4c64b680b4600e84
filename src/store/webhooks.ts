import { expressionBuilder } from "kysely";
import type { WebhookEvent } from "../contract/webhook-events.ts";
import { ProjectGone } from "./project-tallies.ts";
import { queueChore } from "./queue-chore.ts";
import type { Tables, WebhookTable } from "./tables.ts";
import type { Db, Tenant } from "./tenant.ts";

/** A project's webhooks, and what is known of their receivers. */

/** Without its secret, which only its messages are signed with. */
export type Webhook = Pick<
  WebhookTable,
  | "id"
  | "project_id"
  | "url"
  | "created_at"
  | "failing_since"
  | "last_event"
  | "last_at"
  | "last_fault"
  | "dropped"
> & {
  readonly events: readonly WebhookEvent[];
  /** How many of its events wait to be delivered, and how many were given up. */
  readonly waiting: number;
  readonly dead: number;
};

/** Which one it is: nothing is asked about a webhook without its project. */
export type OwnWebhook = Pick<WebhookTable, "project_id" | "id">;

export type NewWebhook = Pick<WebhookTable, "id" | "url" | "secret"> & {
  readonly events: readonly WebhookEvent[];
};

/** A delivery goes to each of them: a project that had very many would hold up its own writes. */
export const mostWebhooks = 10;

/** False where the project has as many as it may have. */
export async function insertWebhook(
  tenant: Tenant,
  { events, ...given }: NewWebhook,
  now: number,
): Promise<boolean> {
  const { db, projectId: project_id } = tenant;
  if (!(await countWebhook(tenant, 1))) return false;
  const rest = { runner: null, runs_until: 0, failures: 0, failing_since: null, rests_until: 0 };
  const dropped = 0;
  const last = { last_event: null, last_at: null, last_fault: null };
  const row = { ...given, project_id, events: JSON.stringify(events), created_at: now };
  await db
    .insertInto("webhooks")
    .values({ ...row, ...rest, ...last, dropped })
    .execute();
  return true;
}

async function countWebhook({ db, projectId }: Tenant, added: 1 | -1): Promise<boolean> {
  const tally = await db
    .updateTable("tallies")
    .set((row) => ({ webhooks: row("webhooks", "+", added) }))
    .where("project_id", "=", projectId)
    .returning("webhooks")
    .executeTakeFirst();
  if (tally === undefined) throw new ProjectGone("the project was deleted");
  if (tally.webhooks <= mostWebhooks) return true;
  await countWebhook({ db, projectId }, -1);
  return false;
}

/** Of one project, or of all of them. */
export async function listWebhooks(db: Db, projectId?: string): Promise<readonly Webhook[]> {
  let query = selectWebhooks(db).orderBy("created_at").orderBy("id");
  if (projectId !== undefined) query = query.where("project_id", "=", projectId);
  return Promise.all((await query.execute()).map((row) => describeWebhook(db, row)));
}

export async function findWebhook(
  db: Db,
  { project_id, id }: OwnWebhook,
): Promise<Webhook | undefined> {
  const ofProject = selectWebhooks(db).where("project_id", "=", project_id);
  const row = await ofProject.where("id", "=", id).executeTakeFirst();
  return row && describeWebhook(db, row);
}

/** Whichever project's it is: a person at the terminal names it by its id alone. */
export async function findAnyWebhook(db: Db, id: string): Promise<Webhook | undefined> {
  const row = await selectWebhooks(db).where("id", "=", id).executeTakeFirst();
  return row && describeWebhook(db, row);
}

/** What a message to it is made with. */
export async function readSecret(
  db: Db,
  { project_id, id }: OwnWebhook,
): Promise<string | undefined> {
  const ofProject = db.selectFrom("webhooks").select("secret").where("project_id", "=", project_id);
  return (await ofProject.where("id", "=", id).executeTakeFirst())?.secret;
}

/** Ends a webhook at once; what it was still to be told follows as a chore. */
export async function deleteWebhook(tenant: Tenant, id: string): Promise<boolean> {
  const { db, projectId: project_id } = tenant;
  const which = db.deleteFrom("webhooks").where("project_id", "=", project_id);
  if ((await which.where("id", "=", id).executeTakeFirst()).numDeletedRows === 0n) return false;
  await countWebhook(tenant, -1);
  await queueChore(db, { kind: "purge_webhook", project_id, subject: id });
  return true;
}

/** Takes away what nobody is told any more; true when nothing of that is left. */
export async function purgeDeliveries(db: Db, webhook: OwnWebhook, most: number): Promise<boolean> {
  const some = db.selectFrom("deliveries").select("event_id").where(isFor(webhook));
  const { numDeletedRows } = await db
    .deleteFrom("deliveries")
    .where(isFor(webhook))
    .where("event_id", "in", some.limit(most))
    .executeTakeFirst();
  return numDeletedRows < BigInt(most);
}

/** Takes away the webhooks of a deleted project; true when nothing of them is left. */
export async function purgeWebhooks({ db, projectId }: Tenant, most: number): Promise<boolean> {
  const ofProject = db.selectFrom("webhooks").select("id").where("project_id", "=", projectId);
  for (const { id } of await ofProject.execute()) {
    if (!(await purgeDeliveries(db, { project_id: projectId, id }, most))) return false;
  }
  await db.deleteFrom("webhooks").where("project_id", "=", projectId).execute();
  return true;
}

export function updateWebhook(db: Db, { project_id, id }: OwnWebhook) {
  return db.updateTable("webhooks").where("project_id", "=", project_id).where("id", "=", id);
}

/** Of deliveries, those of one webhook. */
export function isFor({ project_id, id }: OwnWebhook) {
  const row = expressionBuilder<Tables, "deliveries">();
  return row.and({ "deliveries.project_id": project_id, "deliveries.webhook_id": id });
}

/** We wrote this column ourselves, as the JSON of events that were checked. */
export function readEvents(json: string): readonly WebhookEvent[] {
  return JSON.parse(json) as WebhookEvent[];
}

const shownColumns = [
  "id",
  "project_id",
  "url",
  "events",
  "created_at",
  "failing_since",
  "last_event",
  "last_at",
  "last_fault",
  "dropped",
] as const satisfies readonly (keyof WebhookTable)[];

function selectWebhooks(db: Db) {
  return db.selectFrom("webhooks").select(shownColumns);
}

async function describeWebhook(
  db: Db,
  { events, ...row }: Pick<WebhookTable, (typeof shownColumns)[number]>,
): Promise<Webhook> {
  const counts = await db
    .selectFrom("deliveries")
    .select(({ fn }) => ["state", fn.countAll<number>().as("count")])
    .where(isFor(row))
    .groupBy("state")
    .execute();
  const count = (state: string) => counts.find((each) => each.state === state)?.count ?? 0;
  return { ...row, events: readEvents(events), waiting: count("waiting"), dead: count("dead") };
}
