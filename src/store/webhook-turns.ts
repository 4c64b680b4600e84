import { sql } from "kysely";
import type { WebhookTable } from "./tables.ts";
import type { Db } from "./tenant.ts";
import { updateWebhook, type OwnWebhook } from "./webhooks.ts";

/** Which process delivers to a webhook: one at a time, until its turn is over. */

/** A webhook as whoever delivers to it needs it. */
export type Receiver = OwnWebhook &
  Pick<WebhookTable, "url" | "secret" | "failures"> & {
    /** It is asked for what is due by then, which may lie ahead. */
    readonly due_by: number;
  };

/** From so many failures on a receiver is away, and more than a few messages refused. */
export const awayFrom = 3;
/**
 * One that is away is left alone no longer than this after its pause, or it would be noticed to be
 * back only when an event is due by its own times: up to two hours later.
 */
const leftAlone_ms = 9 * 60 * 1000;

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
  { areFailing, limit }: { readonly areFailing: boolean; readonly limit: number },
): Promise<readonly Receiver[]> {
  const doing = areFailing ? sql`failures > 0` : sql`failures = 0`;
  const dueBy = sql`
    case when failures >= ${sql.lit(awayFrom)} and rests_until <= ${now - leftAlone_ms}
    then ${sql.lit(Number.MAX_SAFE_INTEGER)} else ${now} end
  `;
  const { rows } = await sql<Receiver>`
    select project_id, id, url, secret, failures, ${dueBy} as due_by from webhooks
    where ${doing} and rests_until <= ${now} and ${isFree(now, latest)}
      and exists (
        select 1 from deliveries
        where deliveries.project_id = webhooks.project_id and webhook_id = webhooks.id
          and state = 'waiting' and next_at <= ${dueBy}
      )
      and exists (select 1 from projects where projects.id = webhooks.project_id and suspended = 0)
    order by coalesce(last_at, 0) limit ${limit}
  `.execute(db);
  return rows;
}

/**
 * Makes the runner the only one that delivers to it; false where another one's turn lasts, or has
 * ended since it was found due: then the receiver failed once more, is back, or is left alone anew.
 */
export async function takeTurn(
  db: Db,
  { project_id, id, failures }: Pick<Receiver, keyof OwnWebhook | "failures">,
  turn: Turn,
): Promise<boolean> {
  const { runner, until, now, latest } = turn;
  const { numAffectedRows = 0n } = await sql`
    update webhooks set runner = ${runner}, runs_until = ${until}
    where project_id = ${project_id} and id = ${id}
      and failures = ${failures} and rests_until <= ${now} and ${isFree(now, latest)}
  `.execute(db);
  return numAffectedRows === 1n;
}

function isFree(now: number, latest: number) {
  return sql`(runner is null or runs_until <= ${now} or runs_until > ${latest})`;
}

/** False where another runner has it by now, or it was revoked. */
export async function keepTurn(
  db: Db,
  webhook: OwnWebhook,
  { runner, until }: Pick<Turn, "runner" | "until">,
): Promise<boolean> {
  const which = updateWebhook(db, webhook).set({ runs_until: until });
  const kept = await which.where("runner", "=", runner).executeTakeFirst();
  return kept.numUpdatedRows === 1n;
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
