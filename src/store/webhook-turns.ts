import { sql } from "kysely";
import type { WebhookTable } from "./tables.ts";
import type { Db } from "./tenant.ts";
import { updateWebhook, type OwnWebhook } from "./webhooks.ts";

/** Which process delivers to a webhook: one at a time, until its turn is over. */

/** A webhook as whoever delivers to it needs it. */
export type Receiver = OwnWebhook & Pick<WebhookTable, "url" | "secret">;

/** Whose turn it is to deliver to a webhook, and until when. */
export type Turn = {
  readonly runner: string;
  readonly now: number;
  readonly until: number;
  /** What lies further ahead was written before the clock was set back. */
  readonly latest: number;
};

/**
 * Those that something is due for and that nobody delivers to, who waited longest first: of all
 * projects, for that is what is not known yet.
 */
export async function listDue(
  db: Db,
  { now, latest }: Pick<Turn, "now" | "latest">,
  limit: number,
): Promise<readonly Receiver[]> {
  const { rows } = await sql<Receiver>`
    select project_id, id, url, secret from webhooks
    where rests_until <= ${now} and ${isFree(now, latest)}
      and exists (
        select 1 from deliveries
        where deliveries.project_id = webhooks.project_id and webhook_id = webhooks.id
          and state = 'waiting' and next_at <= ${now}
      )
      and exists (select 1 from projects where projects.id = webhooks.project_id and suspended = 0)
    order by coalesce(last_at, 0) limit ${limit}
  `.execute(db);
  return rows;
}

/**
 * Makes the runner the only one that delivers to it; false where another one's turn lasts, or the
 * receiver rests since it was found due.
 */
export async function takeTurn(
  db: Db,
  { project_id, id }: OwnWebhook,
  turn: Turn,
): Promise<boolean> {
  const { runner, until, now, latest } = turn;
  const { numAffectedRows = 0n } = await sql`
    update webhooks set runner = ${runner}, runs_until = ${until}
    where project_id = ${project_id} and id = ${id}
      and rests_until <= ${now} and ${isFree(now, latest)}
  `.execute(db);
  return numAffectedRows === 1n;
}

function isFree(now: number, latest: number) {
  return sql`(runner is null or runs_until <= ${now} or runs_until > ${latest})`;
}

/** Whether it is the runner's turn, and nobody has revoked the webhook or suspended its project. */
export async function mayDeliver(
  db: Db,
  { project_id, id }: OwnWebhook,
  runner: string,
): Promise<boolean> {
  const turn = db
    .selectFrom("webhooks")
    .innerJoin("projects", "projects.id", "webhooks.project_id")
    .select("webhooks.id")
    .where("webhooks.project_id", "=", project_id)
    .where("webhooks.id", "=", id)
    .where("runner", "=", runner)
    .where("suspended", "=", 0);
  return (await turn.executeTakeFirst()) !== undefined;
}

export async function endTurn(db: Db, webhook: OwnWebhook, runner: string): Promise<void> {
  const which = updateWebhook(db, webhook).set({ runner: null });
  await which.where("runner", "=", runner).execute();
}
