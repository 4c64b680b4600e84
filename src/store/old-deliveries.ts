import { sql } from "kysely";
import { askedWithin_ms, givenUpAfter_ms } from "./delivery-days.ts";
import type { Db } from "./tenant.ts";
import { isFor, type OwnWebhook } from "./webhooks.ts";

/** How much is kept of what could not be delivered, and for how long. */

/** Of a webhook's events that were given up. */
const keptDead_ms = 7 * givenUpAfter_ms;
const mostDead = 1000;
const mostWaiting = 100_000;
/** In one transaction. */
const atOnce = 1000;

export type Tidied = { readonly givenUp: number; readonly mayBeMore: boolean };

/**
 * Gives up what has waited for a day on a receiver that was asked and took nothing all the time, as
 * those of a suspended project are not, and forgets what was given up long ago.
 */
export async function tidyDeliveries(db: Db, webhook: OwnWebhook, now: number): Promise<Tidied> {
  const { project_id, id } = webhook;
  const isAway = sql`exists (
    select 1 from webhooks
    where project_id = ${project_id} and id = ${id} and failing_since <= ${now - givenUpAfter_ms}
      and last_at > ${now - askedWithin_ms}
      and exists (select 1 from projects where projects.id = webhooks.project_id and suspended = 0)
  )`;
  const newestFirst = sql`order by number desc, part desc limit ${atOnce} offset ${mostWaiting}`;
  const latestFirst = sql`order by next_at desc, event_id desc limit ${atOnce} offset ${mostDead}`;
  const givenUp = [
    await giveUp(db, webhook, now, {
      fault: "The receiver took nothing for a day.",
      some: sql`
        and created_at <= ${now - givenUpAfter_ms} and (ends_at is null or ends_at <= ${now})
        and ${isAway} limit ${atOnce}
      `,
    }),
    await giveUp(db, webhook, now, {
      fault: `More than ${mostWaiting} later events were waiting.`,
      some: newestFirst,
    }),
  ];
  const forgotten = [
    await forget(db, webhook, sql`and next_at <= ${now - keptDead_ms} limit ${atOnce}`),
    await forget(db, webhook, latestFirst),
  ];
  return {
    givenUp: givenUp.reduce((sum, count) => sum + Number(count), 0),
    mayBeMore: [...givenUp, ...forgotten].some((count) => count >= BigInt(atOnce)),
  };
}

type Ending = { readonly fault: string; readonly some: ReturnType<typeof sql> };

async function giveUp(
  db: Db,
  webhook: OwnWebhook,
  now: number,
  { fault, some }: Ending,
): Promise<bigint> {
  const { numAffectedRows = 0n } = await sql`
    update deliveries set state = 'dead', next_at = ${now}, fault = coalesce(fault, ${fault})
    where ${isFor(webhook)} and event_id in (
      select event_id from deliveries where ${isFor(webhook)} and state = 'waiting' ${some}
    )
  `.execute(db);
  return numAffectedRows;
}

async function forget(db: Db, webhook: OwnWebhook, some: ReturnType<typeof sql>): Promise<bigint> {
  const { numAffectedRows = 0n } = await sql`
    delete from deliveries where ${isFor(webhook)} and event_id in (
      select event_id from deliveries where ${isFor(webhook)} and state = 'dead' ${some}
    )
  `.execute(db);
  return numAffectedRows;
}
