import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { deleteWebhook, type OwnWebhook } from "../../src/store/webhooks.ts";
import type { Store } from "../../src/store/store.ts";
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

async function addBacklog(): Promise<OwnWebhook> {
  const webhook = await addWebhook(world, receiver.url, ["link.created"]);
  for (let link = 0; link < 3 * atOnce; link += 1) {
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

test("a process that cannot lengthen its turn stops after what is on the way", async () => {
  const webhook = await addBacklog();
  const turns = world.store.db
    .updateTable("webhooks")
    .where("project_id", "=", world.project.id)
    .where("id", "=", webhook.id);
  beforeAnswers(async () => {
    world.advance(9 * second_ms);
    if (receiver.received.length < 2 * atOnce) return;
    await turns.set({ runner: "another process", runs_until: 1 }).execute();
  });
  const { deliverDue, errors } = deliverIn(world);
  await deliverDue();
  expect([receiver.received.length, errors]).toEqual([2 * atOnce, []]);
  // The other process's turn is not lengthened for it.
  expect(await readTurn(webhook)).toEqual({ runs_until: 1 });
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

test("nothing is begun before the turn is known to last long enough", async () => {
  const webhook = await addBacklog();
  beforeAnswers(async () => {
    world.advance(9 * second_ms);
    await Promise.resolve();
  });
  /** How much was begun by when each lengthening was known, by the turn's new end. */
  const kept = new Map<number, number>();
  const write: Store["write"] = async (work, options) => {
    const { runs_until: before } = await readTurn(webhook);
    // The store is busy, and everybody has the time to go on.
    await setTimeout(20);
    const value = await world.store.write(work, options);
    const { runs_until } = await readTurn(webhook);
    const isNew = before > 0 && runs_until > before && !kept.has(runs_until);
    if (isNew) kept.set(runs_until, receiver.received.length);
    return value;
  };
  await deliverIn(world, { store: { ...world.store, write } }).deliverDue();
  expect([...kept.values()]).toEqual([2 * atOnce]);
});

const readTurn = ({ id }: OwnWebhook) =>
  world.store.db
    .selectFrom("webhooks")
    .select("runs_until")
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
