import { expect, test } from "vitest";
import { deleteWebhook, type OwnWebhook } from "../../src/store/webhooks.ts";
import { take, type TestReceiver } from "../support/receiver.ts";
import { addWebhook, deliverIn, openWithReceiver } from "../support/webhook-world.ts";
import type { World } from "../support/world.ts";

/** What ends a process's turn of delivering to a webhook, while more is due. */

const second_ms = 1000;
/** So many are on the way at once. */
const atOnce = 8;

let receiver: TestReceiver;
let world: World;

openWithReceiver((opened) => ({ world, receiver } = opened));

async function addBacklog(rounds = 3): Promise<OwnWebhook> {
  const webhook = await addWebhook(world, receiver.url, ["link.created"]);
  for (let link = 0; link < rounds * atOnce; link += 1) {
    await world.call("POST", "/links", { body: { path: `link-${link}` } });
  }
  return webhook;
}

/** Answers none of those on the way at once until it is done. */
function beforeAnswers(act: () => Promise<unknown>): void {
  const answers: (() => void)[] = [];
  receiver.doing((response) => {
    answers.push(() => void response.writeHead(204).end());
    if (answers.length < atOnce) return;
    const now = answers.splice(0);
    void act().then(() => now.forEach((answer) => answer()));
  });
}

test("a webhook that is revoked is told nothing more than what is on the way", async () => {
  const webhook = await addBacklog();
  const tenant = { projectId: world.project.id };
  beforeAnswers(() => world.store.write((db) => deleteWebhook({ ...tenant, db }, webhook.id)));
  const { deliverDue, errors } = deliverIn(world);
  await deliverDue();
  expect([receiver.received.length, errors]).toEqual([atOnce, []]);
});

test("a process that lost its turn stops after what is on the way", async () => {
  const webhook = await addBacklog();
  const turns = world.store.db
    .updateTable("webhooks")
    .where("project_id", "=", world.project.id)
    .where("id", "=", webhook.id);
  beforeAnswers(() => turns.set({ runner: "another process" }).execute());
  const { deliverDue, errors } = deliverIn(world);
  await deliverDue();
  expect([receiver.received.length, errors]).toEqual([atOnce, []]);
  // It does not end the other one's turn either.
  const row = await world.store.db
    .selectFrom("webhooks")
    .select("runner")
    .where("project_id", "=", world.project.id)
    .executeTakeFirst();
  expect(row).toEqual({ runner: "another process" });
});

test("of a project that is suspended nothing more is told than what is on the way", async () => {
  await addBacklog();
  const projects = world.store.db.updateTable("projects").where("id", "=", world.project.id);
  beforeAnswers(() => projects.set({ suspended: 1 }).execute());
  const { deliverDue } = deliverIn(world);
  await deliverDue();
  expect(receiver.received).toHaveLength(atOnce);
  receiver.doing(take);
  await projects.set({ suspended: 0 }).execute();
  await deliverDue();
  expect(receiver.received).toHaveLength(3 * atOnce);
});

test("nothing is begun that might not end within the turn", async () => {
  await addBacklog(6);
  beforeAnswers(async () => {
    world.advance(9 * second_ms);
    await Promise.resolve();
  });
  const { deliverDue } = deliverIn(world);
  await deliverDue();
  expect(receiver.received).toHaveLength(5 * atOnce);
  await deliverDue();
  expect(receiver.received).toHaveLength(6 * atOnce);
});
