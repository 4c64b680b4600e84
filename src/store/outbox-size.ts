import { sql } from "kysely";
import type { Tenant } from "./tenant.ts";
import { updateWebhook } from "./webhooks.ts";

/**
 * A receiver that is away, or a stranger with a client key, must not fill the disk: the events of a
 * project have so many bytes.
 */
const mostBytes = 20_000_000;
/** Dropping makes more room than is needed at once, so that the next events cost nothing. */
const keptBytes = 18_000_000;

/**
 * Adds what was queued to the size of the outbox. The sum only grows, as nothing subtracts what was
 * delivered; once it exceeds the limit, the outbox is measured.
 */
export async function limitOutbox(tenant: Tenant, addedBytes: number): Promise<void> {
  const { db, projectId } = tenant;
  const update = db.updateTable("tallies").where("project_id", "=", projectId);
  const tally = await update
    .set((row) => ({ outbox_bytes: row("outbox_bytes", "+", addedBytes) }))
    .returning("outbox_bytes")
    .executeTakeFirst();
  if (tally === undefined || tally.outbox_bytes <= mostBytes) return;
  const size = await measureOutbox(tenant);
  const droppedBytes = size > mostBytes ? await dropOldest(tenant, size - keptBytes) : 0;
  await update.set({ outbox_bytes: size - droppedBytes }).execute();
}

const bytes = sql<number>`octet_length(body)`;

async function measureOutbox({ db, projectId }: Tenant): Promise<number> {
  const row = await db
    .selectFrom("deliveries")
    .select(({ fn }) => fn.sum<number | string | null>(bytes).as("size"))
    .where("project_id", "=", projectId)
    .executeTakeFirst();
  return Number(row?.size ?? 0);
}

/** Clicks first: the links have their counts all the same. Answers how many bytes were dropped. */
async function dropOldest({ db, projectId }: Tenant, excessBytes: number): Promise<number> {
  const { rows } = await sql<{ readonly webhook_id: string; readonly size: number }>`
    delete from deliveries where project_id = ${projectId} and (webhook_id, event_id) in (
      select webhook_id, event_id from (
        select webhook_id, event_id, ${bytes} as size, sum(${bytes}) over (
          order by case event when 'link.clicked' then 0 else 1 end, created_at, event_id,
            webhook_id
        ) as upto
        from deliveries where project_id = ${projectId}
      ) as sized where upto - size < ${excessBytes}
    ) returning webhook_id, ${bytes} as size
  `.execute(db);
  const counts = new Map<string, number>();
  for (const { webhook_id } of rows) counts.set(webhook_id, (counts.get(webhook_id) ?? 0) + 1);
  for (const [id, count] of counts) {
    const webhook = updateWebhook(db, { project_id: projectId, id });
    await webhook.set((row) => ({ dropped: row("dropped", "+", count) })).execute();
  }
  return rows.reduce((sum, { size }) => sum + size, 0);
}
