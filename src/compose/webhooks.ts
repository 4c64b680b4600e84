import type { Config } from "../config.ts";
import { testEvent, webhookEvents, type WebhookEvent } from "../contract/webhook-events.ts";
import { createIdAndTime } from "../service/ids.ts";
import {
  createEventId,
  insertWebhook,
  readSecret,
  type Webhook,
  type WebhookKey,
} from "../store/webhooks.ts";
import type { Store } from "../store/store.ts";
import type { Db } from "../store/tables.ts";
import { createDeliverer, type Deliverer } from "../webhooks/deliverer.ts";
import { findFix, reachReceivers } from "../webhooks/reach.ts";
import { createSecret, sendMessage } from "../webhooks/send-message.ts";
import { clock, random, setAlarm } from "./embedded.ts";
import { createForwarder } from "./forward-notices.ts";
import type { LazyState } from "./lazy-state.ts";

/** A project's webhooks, as the terminal and the console manage them. */

/** As it is shown once, to the person who asked for it. */
export type MadeWebhook = Pick<Webhook, "id" | "project_id" | "url" | "events"> & {
  readonly secret: string;
};

type Wanted = Pick<MadeWebhook, "project_id" | "url" | "events"> & { readonly id?: string };

/** Undefined where the project has as many as it may have. */
export async function makeWebhook(
  db: Db,
  { project_id, url, events, ...given }: Wanted,
): Promise<MadeWebhook | undefined> {
  const { id: made, now } = createIdAndTime({ clock, random });
  const { id = made } = given;
  const secret = createSecret(random);
  const row = { id, url, events, secret };
  if (!(await insertWebhook({ db, projectId: project_id }, row, now))) return undefined;
  return { id, project_id, url, events, secret };
}

type Tested = {
  readonly delivered: boolean;
  /** Why it was not taken, for people. */
  readonly fault: string | null;
  /** What mends that, where it is known. */
  readonly next?: string;
};

/** Sends a message that tells of nothing, from here and as the settings of this process let it. */
export async function testWebhook(
  store: Pick<Store, "db">,
  webhook: WebhookKey & Pick<Webhook, "url">,
  config: Config,
): Promise<Tested> {
  const fault = await sendTest(store, webhook, config);
  const next = findFix(fault);
  return { delivered: fault === null, fault, ...(next !== undefined && { next }) };
}

async function sendTest(
  { db }: Pick<Store, "db">,
  { url, ...webhook }: WebhookKey & Pick<Webhook, "url">,
  config: Config,
): Promise<string | null> {
  const { project_id, id } = webhook;
  const secret = await readSecret(db, webhook);
  if (secret === undefined) return "the webhook was revoked";
  const timestamp = new Date(clock.now()).toISOString();
  const body = JSON.stringify({ type: testEvent, timestamp, data: { project_id, webhook_id: id } });
  const message = { event_id: createEventId(), body };
  const sending = { reach: reachReceivers(config.webhook_private), setAlarm, clock };
  return sendMessage(message, { url, secret }, sending, new AbortController().signal);
}

type Delivering = {
  readonly config: Config;
  readonly state: LazyState;
  readonly report: (error: unknown) => unknown;
};

export function openDeliverer(store: Store, { config, state, report }: Delivering): Deliverer {
  const reach = reachReceivers(config.webhook_private);
  const collect = createForwarder(store, state);
  return createDeliverer({ store, clock, setAlarm, reach, collect, report });
}

/** Undefined for a name that is none. */
export function readEventNames(names: readonly string[]): readonly WebhookEvent[] | undefined {
  const known = webhookEvents.filter((event) => names.includes(event));
  return names.every((name) => known.some((event) => event === name)) ? known : undefined;
}
