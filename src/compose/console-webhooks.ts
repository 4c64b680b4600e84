import type { JsonObject } from "../contract/json.ts";
import { sayLocalTime } from "../contract/local-time.ts";
import { faultOf, notFound, Problem, validationFailed } from "../contract/problem.ts";
import { webhookEvents } from "../contract/webhook-events.ts";
import type { Fact } from "../mcp/approval/approval-request.ts";
import {
  deleteWebhook,
  listDead,
  listWebhooks,
  mostWebhooks,
  sendAgain,
  type Webhook,
} from "../store/webhooks.ts";
import type { Db } from "../store/tables.ts";
import { quote } from "../text/show-hidden.ts";
import { findFix, findUrlFault } from "../webhooks/reach.ts";
import { describeReceiver, describeWebhookChange } from "./by-hand.ts";
import { readOwn, type Acting, type ConsoleAct } from "./console-act.ts";
import { changesKeys, makeOnce, managesKeys, readProject, revokeOne } from "./console-making.ts";
import { clock } from "./embedded.ts";
import { makeWebhook, readEventNames, testWebhook } from "./webhooks.ts";

/**
 * A project's webhooks, for those who may make its keys: what happens in all of it is told to
 * whoever holds the address.
 */

export const webhookActs: Readonly<Record<string, ConsoleAct>> = {
  list_webhooks: { isThere: managesKeys, run: (_, acting) => listAll(acting) },
  show_webhook: { isThere: managesKeys, run: show },
  make_webhook: { isThere: changesKeys, run: make },
  revoke_webhook: { isThere: changesKeys, run: revoke },
  test_webhook: { isThere: changesKeys, run: test },
  resend_webhook: { isThere: changesKeys, run: resend },
};

/** Of those that were given up, the page shows so many. */
const mostShown = 100;

async function listAll(acting: Acting): Promise<JsonObject> {
  const webhooks = await listWebhooks(readOwn(acting).store.db, {
    project_id: readProject(acting),
  });
  // What has no address for MCP speaks it over stdio, and delivers nothing.
  const delivers = acting.addresses.mcp !== undefined;
  return { delivers, webhooks: webhooks.map(present) };
}

async function show(args: JsonObject, acting: Acting): Promise<JsonObject> {
  const webhook = await requireOwn(args, acting);
  const dead = await listDead(readOwn(acting).store.db, webhook, mostShown);
  const told = dead.map(({ created_at, given_up_at, ...delivery }) => ({
    ...delivery,
    created_at: new Date(created_at).toISOString(),
    given_up_at: new Date(given_up_at).toISOString(),
  }));
  return { webhook: present(webhook), dead: told };
}

function present({ created_at, last_at, failing_since, ...webhook }: Webhook) {
  const times = { created_at, last_at, failing_since };
  const written = Object.entries(times).map(([name, time]) => {
    return [name, time === null ? null : new Date(time).toISOString()] as const;
  });
  const next = findFix(webhook.last_fault);
  return { ...webhook, ...Object.fromEntries(written), ...(next !== undefined && { next }) };
}

/** Another project's is not there. */
async function requireOwn({ id }: JsonObject, acting: Acting): Promise<Webhook> {
  const { db } = readOwn(acting).store;
  const project_id = readProject(acting);
  const [webhook] = typeof id === "string" ? await listWebhooks(db, { project_id, id }) : [];
  if (webhook === undefined) throw noSuchWebhook();
  return webhook;
}

function noSuchWebhook(): Problem {
  return notFound("This project has no such webhook. It may have been revoked.");
}

async function make(args: JsonObject, acting: Acting): Promise<JsonObject> {
  const { url, events, once } = readWanted(args, acting);
  const facts = describeWanted(url, events);
  const webhook = await makeOnce(
    {
      form: ["webhook", once],
      change: describeWebhookChange("webhooks create", readProject(acting)),
      madeBefore:
        "This form has already created a webhook, whose secret was shown once. " +
        "If you do not have the secret, revoke the webhook and create another one.",
      asks: {
        args: { url, events },
        preview: { title: "Create a webhook", button: "Create webhook", facts },
      },
      make: async (db, place) => {
        const made = await makeWebhook(db, { ...place, url, events });
        if (made !== undefined) return made;
        const message = `A project can have at most ${mostWebhooks} webhooks. Revoke one first.`;
        throw new Problem(422, message);
      },
      after: describeReceiver(url, events),
    },
    acting,
  );
  return { webhook };
}

function readWanted({ url, events: given, once }: JsonObject, { config }: Acting) {
  const address = typeof url === "string" ? url.trim() : "";
  const words: readonly unknown[] = Array.isArray(given) ? given : [];
  const events = readEventNames(words.map(String)) ?? [];
  const fault = findUrlFault(address, config.webhook_private);
  const problems = [
    ...(fault === undefined ? [] : [faultOf("url", fault)]),
    ...(events.length === 0 ? [faultOf("events", "can't be blank: choose at least one")] : []),
  ];
  if (problems.length > 0) throw validationFailed(problems);
  if (typeof once !== "string" || once === "") throw new Problem(400, "This page has expired.");
  return { url: address, events, once };
}

function describeWanted(url: string, events: readonly string[]): readonly Fact[] {
  const isAll = events.length === webhookEvents.length;
  return [
    { name: "web address", text: quote(url, url.length) },
    { name: "events", text: isAll ? "all" : events.join(", ") },
  ];
}

async function revoke(args: JsonObject, acting: Acting): Promise<JsonObject> {
  const webhook = await requireOwn(args, acting);
  const { id, project_id, url, events, created_at, waiting, dead } = webhook;
  const left = waiting + dead;
  const facts = [
    ...describeWanted(url, events),
    { name: "created", text: sayLocalTime(created_at, acting.keyContext.timeZone) },
    {
      name: "then",
      text: `the webhook receives no more events; its undelivered events (${left}) are dropped`,
    },
  ];
  const title = `Revoke the webhook to ${quote(new URL(url).host)}`;
  const preview = { title, button: "Revoke webhook", destroys: true, facts };
  const remove = async (db: Db) => {
    if (!(await deleteWebhook({ db, projectId: project_id }, id))) throw noSuchWebhook();
  };
  const request = { target: id, state: { url, events }, preview };
  const change = describeWebhookChange("webhooks revoke", project_id);
  await revokeOne({ change, request, before: describeReceiver(url, events), remove }, acting);
  return { revoked: { id } };
}

async function test(args: JsonObject, acting: Acting): Promise<JsonObject> {
  const webhook = await requireOwn(args, acting);
  const tested = await testWebhook(readOwn(acting).store, webhook, acting.config);
  return { test: tested };
}

async function resend(args: JsonObject, acting: Acting): Promise<JsonObject> {
  const webhook = await requireOwn(args, acting);
  const { event_id } = args;
  const one = typeof event_id === "string" && event_id !== "" ? event_id : undefined;
  const { write } = readOwn(acting).store;
  return { resent: await write((db) => sendAgain(db, webhook, one, clock.now())) };
}
