import { sql } from "kysely";
import type { Db } from "./tenant.ts";
import { isFor, type OwnWebhook } from "./webhooks.ts";

/** How much is kept of what a webhook's receiver did not take, and for how long. */
const keptDead_ms = 7 * 24 * 60 * 60 * 1000;
const mostDead = 1000;
/** In one transaction. */
const atOnce = 1000;

/** Forgets what was given up long ago; true when that is all. */
export async function tidyDeliveries(db: Db, webhook: OwnWebhook, now: number): Promise<boolean> {
  const latestFirst = sql`order by next_at desc, event_id desc limit ${atOnce} offset ${mostDead}`;
  const forgotten = [
    await forget(db, webhook, sql`and next_at <= ${now - keptDead_ms} limit ${atOnce}`),
    await forget(db, webhook, latestFirst),
  ];
  return forgotten.every((count) => count < BigInt(atOnce));
}

async function forget(db: Db, webhook: OwnWebhook, some: ReturnType<typeof sql>): Promise<bigint> {
  const { numAffectedRows = 0n } = await sql`
    delete from deliveries where ${isFor(webhook)} and event_id in (
      select event_id from deliveries where ${isFor(webhook)} and state = 'dead' ${some}
    )
  `.execute(db);
  return numAffectedRows;
}
