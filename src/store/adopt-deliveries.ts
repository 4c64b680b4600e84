import type { Store } from "./store.ts";
import type { Db } from "./tenant.ts";

/**
 * Events that a process of the version before has written beside this one: they name no project
 * (migration 018). They are given that of their webhook, so that they are told all the same.
 */

const nobodys = "";
/** A statement has room for so many values. */
const atOnce = 500;

export async function adoptDeliveries({ db, write }: Pick<Store, "db" | "write">): Promise<void> {
  for (;;) {
    const left = await selectLeft(db).select("webhook_id").limit(1).executeTakeFirst();
    if (left === undefined) return;
    await write((own) => adoptSome(own, left.webhook_id), { isPatient: true });
  }
}

function selectLeft(db: Db) {
  return db.selectFrom("deliveries").where("project_id", "=", nobodys);
}

async function adoptSome(db: Db, webhookId: string): Promise<void> {
  const some = selectLeft(db).select("event_id").where("webhook_id", "=", webhookId).limit(atOnce);
  const rows = await db
    .deleteFrom("deliveries")
    .where("project_id", "=", nobodys)
    .where("webhook_id", "=", webhookId)
    .where("event_id", "in", some)
    .returningAll()
    .execute();
  const owner = db.selectFrom("webhooks").select("project_id").where("id", "=", webhookId);
  const webhook = await owner.executeTakeFirst();
  // It was revoked meanwhile, or another process was quicker.
  if (webhook === undefined || rows.length === 0) return;
  const { project_id } = webhook;
  const insert = db.insertInto("deliveries").values(rows.map((row) => ({ ...row, project_id })));
  await insert.onConflict((conflict) => conflict.doNothing()).execute();
}
