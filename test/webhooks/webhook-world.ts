import { randomBytes } from "node:crypto";
import { makeWebhook } from "../../src/admin/webhooks.ts";
import { webhookEvents, type WebhookEvent } from "../../src/contract/webhook-events.ts";
import type { HostPolicy } from "../../src/network/hosts/pinned-connection.ts";
import type { Store } from "../../src/store/store.ts";
import { listWebhooks, type Webhook, type WebhookKey } from "../../src/store/webhooks.ts";
import { createDeliverer } from "../../src/webhooks/deliverer.ts";
import { allowReceivers } from "../../src/webhooks/send-message.ts";
import { openForAll, openForEach } from "../support/open-for.ts";
import { startReceiver, take, type Responder, type TestReceiver } from "../support/receiver.ts";
import { createWorld, type World } from "../support/world.ts";

/** Webhooks of a world's project, delivered on the test's clock. */

export const loopback = [{ address: "127.0.0.1", prefix: 32 }];

/** Opens a world for each test and one receiver. Returns functions that cause events. */
export function openWithReceiver(
  keep: (opened: { readonly world: World; readonly receiver: TestReceiver }) => unknown,
  answer: Responder = take,
) {
  let receiver: TestReceiver;
  let world: World;
  openForAll(startReceiver, (opened) => (receiver = opened));
  openForEach(createWorld, (opened) => {
    world = opened;
    receiver.received.length = 0;
    receiver.doing(answer);
    return keep({ world, receiver });
  });
  return {
    create: async (path: string): Promise<string> =>
      (await world.call("POST", "/links", { body: { path } })).body.id,
    rename: (id: string, name: string) => world.call("PATCH", `/links/${id}`, { body: { name } }),
    find: async ({ project_id, id }: WebhookKey): Promise<Webhook | undefined> =>
      (await listWebhooks(world.store.db, { project_id, id }))[0],
    suspend: (suspended: 0 | 1) =>
      world.store.db
        .updateTable("projects")
        .set({ suspended })
        .where("id", "=", world.project.id)
        .execute(),
  };
}

export async function addWebhook(
  { store, clock, project }: Pick<World, "store" | "clock" | "project">,
  url: string,
  events: readonly WebhookEvent[] = webhookEvents,
) {
  const webhook = { project_id: project.id, url, events };
  return store.write((db) => makeWebhook(db, { clock, random: { bytes: randomBytes } }, webhook));
}

export function deliverIn(
  world: Pick<World, "store" | "clock" | "setAlarm">,
  { policy = allowReceivers(loopback), store = world.store, collect = nothing }: WorldOptions = {},
) {
  const { clock, setAlarm } = world;
  const errors: unknown[] = [];
  const deliverer = createDeliverer({
    store,
    clock,
    setAlarm,
    policy,
    collect,
    report: (error) => errors.push(error),
  });
  return { ...deliverer, errors };
}

type WorldOptions = {
  readonly policy?: HostPolicy;
  readonly store?: Store;
  readonly collect?: () => Promise<void>;
};

function nothing(): Promise<void> {
  return Promise.resolve();
}
