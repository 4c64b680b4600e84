import { sql } from "kysely";
import { expect, test } from "vitest";
import type { TestReceiver } from "../support/receiver.ts";
import { addWebhook, deliverIn, openWithReceiver } from "../support/webhook-world.ts";
import type { World } from "../support/world.ts";

/** A process of before events named their project goes on writing beside one that knows of it. */

let receiver: TestReceiver;
let world: World;

openWithReceiver((opened) => ({ world, receiver } = opened));

/** As such a process writes it. */
async function writeAsBefore(webhookId: string, count: number): Promise<void> {
  await world.store.write(async (db) => {
    for (let number = 0; number < count; number += 1) {
      await sql`
        insert into deliveries (webhook_id, event_id, number, part, event, subject, body, state,
          attempts, next_at, created_at)
        values (${webhookId}, ${`evt_${number}`}, ${number}, 0, 'link.created', 'a link',
          ${JSON.stringify({ type: "link.created", number })}, 'waiting', 0, 0, 0)
        on conflict do nothing
      `.execute(db);
    }
  });
}

const countLeft = async () =>
  (await world.store.db.selectFrom("deliveries").select("event_id").execute()).length;

test("what it writes is told as well, in its order", async () => {
  const { id } = await addWebhook(world, receiver.url);
  await writeAsBefore(id, 3);
  const { deliverDue, errors } = deliverIn(world);
  await deliverDue();
  await deliverDue();
  expect(receiver.received.map(({ body }) => body.number)).toEqual([0, 1, 2]);
  expect([await countLeft(), errors]).toEqual([0, []]);
});

test("what it writes later is told half a minute later at the latest", async () => {
  const { id } = await addWebhook(world, receiver.url);
  const { deliverDue, errors } = deliverIn(world);
  await deliverDue();
  await writeAsBefore(id, 1);
  for (const passed_ms of [29_999, 1]) {
    world.advance(passed_ms);
    expect(receiver.received).toEqual([]);
    await deliverDue();
    await deliverDue();
  }
  expect(receiver.received).toHaveLength(1);
  expect([await countLeft(), errors]).toEqual([0, []]);
});

test("what it writes for a webhook that is gone is nobody's", async () => {
  receiver.received.length = 0;
  await writeAsBefore("revoked", 501);
  const { deliverDue } = deliverIn(world);
  await deliverDue();
  expect([await countLeft(), receiver.told()]).toEqual([0, []]);
});
