import { sayLocalTime } from "../contract/local-time.ts";
import { limits } from "../contract/limits.ts";
import { notFound, Problem } from "../contract/problem.ts";
import type { SetAlarm } from "../contract/clock.ts";
import { testEvent, webhookEvents, type WebhookEvent } from "../contract/webhook-events.ts";
import { createIdAndTime, type IdSources } from "../service/ids.ts";
import {
  createEventId,
  deleteWebhook,
  insertWebhook,
  readSecret,
  type listDead,
  type Webhook,
} from "../store/webhooks.ts";
import type { Db } from "../store/tables.ts";
import { quote } from "../text/show-hidden.ts";
import { createSecret, findFix, allowReceivers, sendMessage } from "../webhooks/send-message.ts";
import { create, remove, type AdminAct, type AdminFact, type Operator } from "./operator.ts";

/** Creates, tests and revokes a project's webhooks. */

/** A new webhook with its secret, which is shown only once. */
export type NewWebhook = Pick<Webhook, "id" | "project_id" | "url" | "events"> & {
  readonly secret: string;
};

/** A webhook, and how to fix its last failure, if known. */
export type ListedWebhook = Webhook & { readonly fix: string | undefined };

export type DeadEvent = Awaited<ReturnType<typeof listDead>>[number];

type WebhookRequest = Pick<Webhook, "project_id" | "url" | "events"> & {
  /** Identifies the form, so that submitting it twice creates one webhook. Omitted in the CLI. */
  readonly once?: string;
};

export function createWebhook(
  operator: Operator,
  { once, ...webhook }: WebhookRequest,
): Promise<NewWebhook> {
  const { project_id, url, events } = webhook;
  const facts = listFacts(webhook);
  return create(operator, {
    act: describeAct("webhooks create", project_id),
    once: once === undefined ? undefined : { form: ["webhook", once], madeBefore },
    question: {
      args: { url, events },
      preview: { title: "Create a webhook", button: "Create webhook", facts },
    },
    make: (db, id) => makeWebhook(db, operator, { ...(id && { id }), ...webhook }),
    record: describeReceiver(webhook),
  });
}

const madeBefore =
  "This form has already created a webhook, whose secret was shown once. " +
  "If you do not have the secret, revoke the webhook and create another one.";

/** Throws if the project already has the maximum number of webhooks. */
export async function makeWebhook(
  db: Db,
  sources: IdSources,
  { project_id, url, events, ...given }: Omit<WebhookRequest, "once"> & { readonly id?: string },
): Promise<NewWebhook> {
  const { id: made, now } = createIdAndTime(sources);
  const { id = made } = given;
  const secret = createSecret(sources.random);
  if (await insertWebhook({ db, projectId: project_id }, { id, url, events, secret }, now)) {
    return { id, project_id, url, events, secret };
  }
  const most = limits.webhooks_of_project;
  throw new Problem(422, `A project can have at most ${most} webhooks. Revoke one first.`);
}

export async function revokeWebhook(operator: Operator, webhook: Webhook): Promise<void> {
  const { id, project_id, url, created_at, waiting, dead } = webhook;
  const left = waiting + dead;
  await remove(operator, {
    act: describeAct("webhooks revoke", project_id),
    id,
    record: describeReceiver(webhook),
    preview: () => ({
      title: `Revoke the webhook to ${quote(new URL(url).host)}`,
      button: "Revoke webhook",
      destroys: true,
      facts: [
        ...listFacts(webhook),
        { name: "created", text: sayLocalTime(created_at, operator.person?.timeZone) },
        {
          name: "then",
          text: `the webhook receives no more events; its undelivered events (${left}) are dropped`,
        },
      ],
    }),
    remove: (db) => deleteWebhook({ db, projectId: project_id }, id),
    missing: webhookNotFound,
  });
}

export function webhookNotFound(): Problem {
  return notFound("This project has no such webhook. It may have been revoked.");
}

function describeAct(tool: "webhooks create" | "webhooks revoke", realm: string): AdminAct {
  const note =
    "This cannot be undone. Create and revoke webhooks in the console, or with waypost webhooks.";
  return { tool, realm, kind: "webhook", name: null, note };
}

/** Omits the full URL, which may contain a secret. */
function describeReceiver({ url, events }: Pick<Webhook, "url" | "events">) {
  return { host: new URL(url).host, events };
}

function listFacts({ url, events }: Pick<Webhook, "url" | "events">): readonly AdminFact[] {
  const isAll = events.length === webhookEvents.length;
  return [
    { name: "web address", text: quote(url, url.length) },
    { name: "events", text: isAll ? "all" : events.join(", ") },
  ];
}

export type WebhookTest = {
  readonly delivered: boolean;
  /** Why the receiver rejected the message, or could not be reached. */
  readonly fault: string | null;
  /** How to fix the fault, if known. */
  readonly next?: string;
};

type TestOptions = Omit<Parameters<typeof sendMessage>[2], "policy"> & {
  readonly setAlarm: SetAlarm;
  /** The private networks in which the operator allows receivers. */
  readonly networks: Parameters<typeof allowReceivers>[0];
};

/** Sends a test message from this process. */
export async function testWebhook(
  db: Db,
  { project_id, id, url }: Pick<Webhook, "project_id" | "id" | "url">,
  { networks, ...sending }: TestOptions,
): Promise<WebhookTest> {
  const secret = await readSecret(db, { project_id, id });
  if (secret === undefined) return { delivered: false, fault: "the webhook was revoked" };
  const timestamp = new Date(sending.clock.now()).toISOString();
  const body = JSON.stringify({ type: testEvent, timestamp, data: { project_id, webhook_id: id } });
  const message = { event_id: createEventId(), body };
  const policy = allowReceivers(networks);
  const { signal } = new AbortController();
  const fault = await sendMessage(message, { url, secret }, { ...sending, policy }, signal);
  const next = findFix(fault);
  return { delivered: fault === null, fault, ...(next !== undefined && { next }) };
}

/** Returns undefined if one of the names is not an event. */
export function readEventNames(names: readonly string[]): readonly WebhookEvent[] | undefined {
  const known = webhookEvents.filter((event) => names.includes(event));
  return names.every((name) => known.some((event) => event === name)) ? known : undefined;
}
